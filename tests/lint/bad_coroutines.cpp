// Shapes that g++ 12 miscompiles: scripts/check-coroutines.sh --self-test wants each line marked FLAG
// flagged.
#include <boost/asio/awaitable.hpp>
#include <string>
#include <utility>

namespace sample {

struct Options {
  std::string name;
  int depth = 0;
};
struct Made {
  explicit Made(std::string text) : name(std::move(text)) {}
  std::string name;
};
template <class T>
using Task = boost::asio::awaitable<T>;

inline Task<int> take(Options options) {
  co_return options.depth;
}
inline Task<int> take_reference(const Options& options) {
  co_return options.depth;
}
inline Task<int> take_made(Made made) {
  co_return static_cast<int>(made.name.size());
}
template <class F>
Task<int> call(F function) {
  co_return function();
}

// Each shape and its mark stay on one line:
// clang-format off
inline Task<int> braced(std::string text) { co_return co_await take({text, 1}); }                    // FLAG
inline Task<int> designated(std::string text) { co_return co_await take(Options{.name = text}); }    // FLAG
inline Task<int> reference(std::string text) { co_return co_await take_reference({text, 1}); }       // FLAG
inline Task<int> capturing(std::string text) { co_return co_await call([text] { return 1; }); }      // FLAG
inline Task<Options> built(std::string text) { co_return Options{text, co_await take_made(Made(text))}; }  // FLAG

// clang-format on
inline Task<int> named(std::string text) {
  Options options{std::move(text), 1};
  co_return co_await take(std::move(options));
}
inline Task<int> named_lambda(std::string text) {
  auto function = [text] { return static_cast<int>(text.size()); };
  co_return co_await call(std::move(function));
}
inline Task<int> constructor(std::string text) {
  co_return co_await take_made(Made(std::move(text)));
}
inline Task<int> in_two_steps(std::string text) {
  auto task = take({std::move(text), 1});
  co_return co_await std::move(task);
}
inline Task<Options> awaited_first(std::string text) {
  const int depth = co_await take_made(Made(text));
  co_return Options{text, depth};
}

}  // namespace sample
