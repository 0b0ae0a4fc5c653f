/* A library with thread-local variables: many, or with FEW some that take of the room that is left
   for libraries that are loaded late. */
#ifdef FEW
__attribute__((tls_model("initial-exec"))) static __thread long variables[8];
#else
static __thread long variables[500];
#endif

int touch(void) {
    variables[7] += 1;
    return variables[7] == 1;
}
