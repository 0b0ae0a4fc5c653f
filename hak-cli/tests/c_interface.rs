//! The C interface: programs in C and C++ on libraries that `hak build` makes.
//!
//! The programs are in `tests/c`; each checks for itself and prints `ok`. They are compiled by the
//! system's compiler, `cc` and `c++`, without which these tests fail.

mod c_support;
#[path = "c_support/programs.rs"]
mod programs;

use std::fs;
use std::process::Command;

use c_support::{Built, library};
use programs::{Compiled, Program, compile, run};

/// Specs that differ in what is behind the interface: layers, checks, how places are counted.
const SPECS: [(&str, &str); 9] = [
    ("general", ""),
    ("tiny", ""),
    ("hardened", ""),
    ("parallel", ""),
    ("direct", "schema = 1\ncache.layers = []\n"),
    ("lists", "schema = 1\ncache.layers = [\"freelist\", \"depot\"]\n"),
    (
        "adaptive",
        "schema = 1\ncache.layers = [\"magazine\", \"freelist\", \"depot\"]\n\
         cache.adaptive = { min = 8, max = 64 }\nhints.prefetch = true\n",
    ),
    (
        "many",
        "schema = 1\nclasses.ladder = { quantum = 16, linear_to = 1024, steps_per_doubling = 8, \
         max = \"64 KiB\" }\nhints.hot = [64, 48]\nsuperslab.shards = 4\n",
    ),
    (
        "odd",
        "schema = 1\nclasses.sizes = [16, 24, 40, 64, 1000, 1024, 131072]\n\
         cache.layers = [\"magazine\"]\nvalidation.random = true\nvalidation.quarantine = true\n",
    ),
];

/// The library of one of [`SPECS`].
fn of(name: &str) -> Built {
    let (_, text) = SPECS.iter().find(|(one, _)| *one == name).expect("there is such a spec");
    library(name, text)
}

fn on_all(program: &Compiled) {
    for (name, text) in SPECS {
        println!("on {name}");
        run(program.command().preload(&library(name, text)));
    }
}

#[test]
fn the_contract_holds_on_every_kind_of_spec() {
    let contract = compile("contract.c");
    // What is asked for is what the C library's own allocator does.
    run(contract.command());
    on_all(&contract);
}

#[test]
fn threads_share_end_and_run_out_of_memory() {
    on_all(&compile("threads.c"));
}

#[test]
fn keys_and_their_destructors() {
    let keys = compile("keys.c");
    on_all(&keys);
    for name in ["general", "hardened"] {
        run(keys.command().arg("exhaust").preload(&of(name)));
    }
}

#[test]
fn children_of_a_busy_program_allocate() {
    let fork = compile("fork.c");
    run(fork.command().arg("300").preload(&of("general")));
    run(fork.command().arg("40").preload(&of("hardened")));
    run(fork.command().arg("100").preload(&of("direct")));
}

#[test]
fn what_is_before_and_after_main() {
    on_all(&compile("start.c"));
}

#[test]
fn every_operator_new_and_delete() {
    let operators = compile("operators.cpp");
    run(operators.command());
    on_all(&operators);
}

#[test]
fn programs_are_linked_with_either_library() {
    let general = of("general");
    for source in ["contract.c", "threads.c", "fork.c", "start.c", "operators.cpp"] {
        let program = Program::new(source).with(&general.archive);
        run(program.clone().name("linked").compile().command().arg("200"));
        run(program.arg("-static").name("static").compile().command().arg("200"));
    }
    let shared = Program::new("contract.c").with(&general.shared).name("shared");
    run(shared.compile().command());
}

#[test]
fn it_is_loaded_after_libraries_that_take_thread_local_storage() {
    let others: Vec<_> = (0..20)
        .map(|nth| {
            let few = if nth % 2 == 0 { "-DFEW" } else { "-DMANY" };
            let name = format!("tls{nth}.so");
            Program::new("tls_heavy.c").args(&["-shared", "-fPIC", few]).name(&name).compile()
        })
        .collect();
    let late = compile("late.c");
    let paths = others.iter().map(|other| other.path().to_str().unwrap());
    let mut command = late.command();
    command = command.arg(of("general").shared.to_str().unwrap());
    run(paths.fold(command, |command, path| command.arg(path)));
}

/// From Python, too, if there is one: its libraries are loaded late.
#[test]
fn python_loads_it_late() {
    let other = Program::new("tls_heavy.c").args(&["-shared", "-fPIC"]).name("tls_py.so").compile();
    let text = format!(
        "import ctypes, threading\n\
         other = ctypes.CDLL({:?})\n\
         assert other.touch() == 1\n\
         hak = ctypes.CDLL({:?})\n\
         hak.malloc.restype = ctypes.c_void_p\n\
         def work():\n\
         \x20   blocks = [ctypes.c_void_p(hak.malloc(ctypes.c_size_t(n))) for n in range(500)]\n\
         \x20   for block in blocks: hak.free(block)\n\
         work()\n\
         threads = [threading.Thread(target=work) for _ in range(8)]\n\
         [thread.start() for thread in threads]\n\
         [thread.join() for thread in threads]\n\
         print('ok')\n",
        other.path(),
        of("general").shared,
    );
    let python = Command::new("python3").args(["-c", &text]).output().expect("python3 starts");
    assert_eq!(String::from_utf8_lossy(&python.stderr), "");
    assert_eq!(String::from_utf8_lossy(&python.stdout), "ok\n");
}

#[test]
fn another_library_refuses_system_calls() {
    let refuser =
        Program::new("refuser.c").args(&["-shared", "-fPIC"]).name("refuser.so").compile();
    let refused = compile("refused.c");
    for name in ["general", "hardened", "direct"] {
        let library = of(name).shared;
        for order in [[&library, refuser.path()], [refuser.path(), &library]] {
            run(refused.command().preloads(&order));
        }
    }
}

#[test]
fn another_library_hands_us_what_is_not_ours() {
    let forwarder = Program::new("forwarder.c").args(&["-shared", "-fPIC"]).name("forwarder.so");
    let (forwarder, forwarded) = (forwarder.compile(), compile("forwarded.c"));
    run(forwarded.command().preloads(&[forwarder.path(), &of("general").shared]));
    run(forwarded.command().preloads(&[&of("general").shared, forwarder.path()]));
}

#[test]
fn a_programs_own_blocks_go_back_to_it() {
    let carried = Program::new("carried.c").arg("-rdynamic").compile();
    run(carried.command());
    for name in ["general", "tiny"] {
        run(carried.command().preload(&of(name)));
    }
}

#[test]
fn a_programs_own_operators_get_all_that_is_made_of_them() {
    let replaced = compile("replaced.cpp");
    run(replaced.command());
    on_all(&replaced);
}

#[test]
fn another_library_allocates_while_memory_is_asked_for() {
    let watcher = Program::new("watcher.c").args(&["-shared", "-fPIC"]).name("watcher.so");
    let (watcher, threads) = (watcher.compile(), compile("threads.c"));
    for name in ["general", "hardened"] {
        let library = of(name).shared;
        for order in [[&library, watcher.path()], [watcher.path(), &library]] {
            run(threads.command().arg("2000").preloads(&order));
        }
    }
}

#[test]
fn a_block_gets_shorter_without_memory() {
    on_all(&compile("shrink.c"));
}

#[test]
fn a_process_may_do_little() {
    let filtered = compile("filtered.c");
    for name in ["general", "hardened"] {
        run(filtered.command().preload(&of(name)));
    }
}

/// 64 MiB of addresses are enough to start with.
#[test]
fn addresses_are_limited() {
    let start = compile("start.c");
    for name in ["general", "tiny", "hardened"] {
        for mib in [64, 256, 1 << 10, 8 << 10] {
            run(start.command().preload(&of(name)).limit(mib));
        }
    }
}

/// How a program ends that misuses memory, on a spec with all checks.
#[test]
fn misuse_ends_the_process() {
    let misuse = compile("misuse.c");
    let hardened = of("hardened");
    let said = |what: &str| {
        let output = misuse.command().arg(what).preload(&hardened).output();
        assert_eq!(output.signal, Some(libc_sigabrt()), "{what}: {}", output.stderr);
        let (said, _) = output.stderr.split_once(" 0x").unwrap_or((&output.stderr, ""));
        said.trim_end().to_owned()
    };
    let block = "hak: Hardened: double free of 112-byte block";
    assert_eq!(said("double"), block);
    assert_eq!(said("double-large"), "hak: Hardened: double free of 200000-byte block");
    assert_eq!(said("past"), "hak: Hardened: write past the end of 104 bytes at");
    assert_eq!(said("past-large"), "hak: Hardened: write past the end of 200000 bytes at");
    assert_eq!(said("inside"), "hak: Hardened: free of");
    assert_eq!(said("inside-large"), "hak: Hardened: free of");
    assert_eq!(said("foreign"), "hak: Hardened: free of foreign address");
    assert_eq!(said("after"), "hak: Hardened: write after free in 112-byte block");
    // Without checks, what is free twice is noticed where it must be.
    let output = misuse.command().arg("double-large").preload(&of("general")).output();
    assert!(output.stderr.starts_with("hak: General: double free of 200000-byte block"));
}

fn libc_sigabrt() -> i32 {
    6
}

/// Programs of the system's own print what they print without the library.
#[test]
fn the_systems_programs_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String = (0..20_000).map(|n| format!("{}\n", n * 7919 % 20_011)).collect();
    fs::write(folder.path().join("numbers"), numbers).unwrap();
    let scripts = [
        "ls -laR /usr/lib/x86_64-linux-gnu | sort -k5 -n | md5sum",
        "sort -n numbers | md5sum; sort -R numbers | sort -n | md5sum",
        "sort --parallel=4 numbers | tail -1",
        "for i in 1 2 3 4 5 6 7 8 9; do x=\"$x$(seq $i 300 | tr '\\n' ' ')\"; done; echo ${#x}",
        "tar cf - -C /usr/include . --sort=name --mtime=@0 | md5sum",
        "awk '{ a[$1 % 100] = a[$1 % 100] $1 } END { for (i in a) n += length(a[i]); print n }' \
         numbers",
        "if command -v perl >/dev/null; then perl -e '%h = map { $_ => \"x\" x ($_ % 90) } \
         1..50000; print length(join \",\", map { $h{$_} } sort keys %h), \"\\n\"'; fi",
        "if command -v git >/dev/null; then rm -rf g; git init -q g; cd g; cp ../numbers .; \
         git add .; git -c user.name=n -c user.email=e commit -q -m m --date=@0; git gc -q; \
         git fsck; git cat-file -p HEAD^{tree}; fi",
    ];
    for script in scripts {
        let output = |preload: Option<&Built>| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).current_dir(folder.path()).env("LC_ALL", "C");
            if let Some(built) = preload {
                command.env("LD_PRELOAD", &built.shared);
            }
            let output = command.output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let without = output(None);
        for name in ["general", "hardened"] {
            assert_eq!(output(Some(&of(name))), without, "{name}: {script}");
        }
    }
}
