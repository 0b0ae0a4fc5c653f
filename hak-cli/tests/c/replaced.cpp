// A program that has its own plain operators new and delete, and none of those that are made of
// them: all its blocks come from its own, and go to its own.
#include "check.h"
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

static const std::size_t HEAD = 32;
static const std::uint64_t MARK = 0x6d79206f776e;
static volatile long live;
static bool fails;

static void *own_new(std::size_t bytes) {
    char *head = fails ? nullptr : static_cast<char *>(std::malloc(bytes + HEAD));
    if (!head)
        throw std::bad_alloc();
    *reinterpret_cast<std::uint64_t *>(head) = MARK;
    live = live + 1;
    return head + HEAD;
}

static void own_delete(void *block) {
    if (!block)
        return;
    char *head = static_cast<char *>(block) - HEAD;
    CHECK(*reinterpret_cast<std::uint64_t *>(head) == MARK);
    *reinterpret_cast<std::uint64_t *>(head) = 0;
    live = live - 1;
    std::free(head);
}

void *operator new(std::size_t bytes) { return own_new(bytes); }
void operator delete(void *block) noexcept { own_delete(block); }

struct Sized {
    char bytes[48];
};

int main() {
    long before = live;
    std::vector<Sized *> blocks;
    for (int i = 0; i < 100; i++)
        blocks.push_back(new Sized);
    CHECK(live >= before + 100);
    for (Sized *block : blocks)
        delete block;
    std::vector<Sized *>().swap(blocks);
    CHECK(live == before);
    // With a size, for arrays, without throwing.
    ::operator delete(::operator new(100), std::size_t(100));
    ::operator delete[](::operator new[](100));
    ::operator delete[](::operator new[](100), std::size_t(100));
    ::operator delete(::operator new(100, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](100, std::nothrow), std::nothrow);
    CHECK(live == before);
    {
        void *array = ::operator new[](100);
        CHECK(live == before + 1);
        ::operator delete[](array);
        // What is within the C++ library.
        std::string text(1000, 'x');
        auto shared = std::make_shared<std::string>(text + text);
        CHECK(live > before);
    }
    CHECK(live == before);
    fails = true;
    CHECK(!::operator new(100, std::nothrow) && !::operator new[](100, std::nothrow));
    CHECK(throws_bad_alloc([] { ::operator delete[](::operator new[](100)); }));
    fails = false;
    // Those for an alignment are made of others, which are not replaced.
    void *aligned = ::operator new[](100, std::align_val_t(64));
    CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 64 == 0 && live == before);
    ::operator delete[](aligned, std::size_t(100), std::align_val_t(64));
    std::puts("ok");
    return 0;
}
