// Every form of the operators new and delete; handlers, exceptions and threads.
#include "check.h"
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile std::size_t too_large = std::size_t(1) << 60;
// Where blocks go, so that none is left out by the compiler.
static void *volatile sink;

static bool is_aligned(void *block, std::size_t align) {
    return reinterpret_cast<std::uintptr_t>(block) % align == 0;
}

static void forms_match() {
    for (std::size_t bytes : {std::size_t(0), std::size_t(1), std::size_t(40), std::size_t(5000),
                              std::size_t(40000), std::size_t(3000000)}) {
        void *plain = ::operator new(bytes), *array = ::operator new[](bytes);
        void *quiet = ::operator new(bytes, std::nothrow);
        void *quiet_array = ::operator new[](bytes, std::nothrow);
        CHECK(plain && array && quiet && quiet_array && plain != array);
        for (void *block : {plain, array, quiet, quiet_array}) {
            CHECK(is_aligned(block, 16));
            std::memset(block, 1, bytes);
        }
        ::operator delete(plain);
        ::operator delete[](array, bytes);
        ::operator delete(quiet, std::nothrow);
        ::operator delete[](quiet_array, std::nothrow);
        ::operator delete(::operator new(bytes), bytes);
        ::operator delete[](::operator new[](bytes));
        for (std::size_t align = 1; align <= 1 << 16; align *= 2) {
            auto to = std::align_val_t(align);
            void *blocks[] = {::operator new(bytes, to), ::operator new[](bytes, to),
                              ::operator new(bytes, to, std::nothrow),
                              ::operator new[](bytes, to, std::nothrow)};
            for (void *block : blocks)
                CHECK(block && is_aligned(block, align));
            ::operator delete(blocks[0], to);
            ::operator delete[](blocks[1], bytes, to);
            ::operator delete(blocks[2], to, std::nothrow);
            ::operator delete[](blocks[3], to, std::nothrow);
            ::operator delete(::operator new(bytes, to), bytes, to);
        }
    }
    ::operator delete(nullptr);
    struct alignas(128) Wide {
        char bytes[300];
    };
    std::vector<std::unique_ptr<Wide>> wide;
    for (int i = 0; i < 100; i++) {
        wide.push_back(std::make_unique<Wide>());
        CHECK(is_aligned(wide.back().get(), 128));
    }
}

static void lack_of_memory_is_thrown() {
    auto wide = std::align_val_t(64);
    CHECK(throws_bad_alloc([] { sink = ::operator new(too_large); }));
    CHECK(throws_bad_alloc([] { sink = ::operator new[](too_large); }));
    CHECK(throws_bad_alloc([=] { sink = ::operator new(too_large, wide); }));
    CHECK(throws_bad_alloc([=] { sink = ::operator new[](too_large, wide); }));
    CHECK(throws_bad_alloc([] { std::vector<char> vector(too_large); }));
    CHECK(!::operator new(too_large, std::nothrow));
    CHECK(!::operator new[](too_large, std::nothrow));
    CHECK(!::operator new(too_large, wide, std::nothrow));
    CHECK(!::operator new[](too_large, wide, std::nothrow));
    // Nor is there memory at what is no alignment.
    for (std::size_t align : {std::size_t(0), std::size_t(3), std::size_t(24), std::size_t(5000)}) {
        auto odd = std::align_val_t(align);
        for (std::size_t bytes : {std::size_t(10), std::size_t(70000), std::size_t(5000000)}) {
            CHECK(throws_bad_alloc([=] { sink = ::operator new(bytes, odd); }));
            CHECK(throws_bad_alloc([=] { sink = ::operator new[](bytes, odd); }));
            CHECK(!::operator new(bytes, odd, std::nothrow));
            CHECK(!::operator new[](bytes, odd, std::nothrow));
        }
    }
}

static int calls;

static void handlers_are_called() {
    std::set_new_handler([] {
        if (++calls == 3)
            std::set_new_handler(nullptr);
    });
    CHECK(throws_bad_alloc([] { sink = ::operator new(too_large); }) && calls == 3);
    // A handler that throws something of its own.
    std::set_new_handler([] { throw std::bad_array_new_length(); });
    CHECK(throws_bad_alloc([] { sink = ::operator new(too_large); }));
    CHECK(throws_bad_alloc([] { sink = ::operator new(too_large, std::align_val_t(256)); }));
    std::set_new_handler(nullptr);
}

// In a program that is linked statically, with no other operators behind ours, none is called.
static void quiet_operators_catch_what_handlers_throw() {
    std::set_new_handler([] { throw std::bad_alloc(); });
    CHECK(!::operator new(too_large, std::nothrow));
    CHECK(!::operator new(too_large, std::align_val_t(64), std::nothrow));
    std::set_new_handler(nullptr);
}

// A handler that makes room is worth a second try.
static std::atomic<std::size_t> wanted;

static void a_handler_may_help() {
    wanted = std::size_t(1) << 60;
    std::set_new_handler([] { std::set_new_handler(nullptr); });
    CHECK(throws_bad_alloc([] { sink = ::operator new(wanted); }));
}

static void works(int seed) {
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 3000; i++) {
        map["key of some length " + std::to_string((i * 7919 + seed) % 500)].push_back(i);
        try {
            if (i % 100 == 0)
                throw std::runtime_error(std::string(200, 'x'));
        } catch (const std::exception &error) {
            CHECK(std::strlen(error.what()) == 200);
        }
    }
    std::size_t sum = 0;
    for (const auto &[key, numbers] : map)
        sum += numbers.size();
    CHECK(sum == 3000);
}

int main() {
    forms_match();
    lack_of_memory_is_thrown();
    handlers_are_called();
    quiet_operators_catch_what_handlers_throw();
    a_handler_may_help();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(works, i);
    for (auto &thread : threads)
        thread.join();
    std::puts("ok");
}
