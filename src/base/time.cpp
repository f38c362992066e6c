#include "base/time.h"

#include <array>
#include <cstdio>

namespace sluice {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> kLongDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

struct Fields {
  int year, month, day, hour, minute, second, millisecond;
  unsigned weekday;
};

Fields split(WallClock::time_point when) {
  const auto date = floor<days>(when);
  const std::chrono::year_month_day ymd(date);
  const std::chrono::hh_mm_ss time(floor<milliseconds>(when - date));
  return {int(ymd.year()),
          static_cast<int>(static_cast<unsigned>(ymd.month())),
          static_cast<int>(static_cast<unsigned>(ymd.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count()),
          static_cast<int>(time.subseconds().count()),
          std::chrono::weekday(date).c_encoding()};
}

Result<WallClock::time_point> join(int year, int month, int day, int hour, int minute, int second,
                                   int millisecond = 0) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // Second 60 is a leap second, which RFC 9110 allows; the clock has none. Nanoseconds in 64 bits reach from
  // 1677 to 2262.
  if (!date.ok() || year < 1678 || year > 2261 || hour > 23 || minute > 59 || second > 60) {
    return Error(ErrorCode::invalid_argument, "not a date of the calendar");
  }
  return WallClock::time_point(sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         seconds(second) + milliseconds(millisecond);
}

/// Eats fixed pieces of a text; the first wrong piece spoils everything after it.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  int digits(std::size_t count) {
    int value = 0;
    if (rest_.size() < count) ok_ = false;
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const char c = rest_[i];
      if (c < '0' || c > '9') ok_ = false;
      value = value * 10 + (c - '0');
    }
    if (ok_) rest_.remove_prefix(count);
    return ok_ ? value : 0;
  }
  void text(std::string_view expected) {
    if (ok_ && rest_.starts_with(expected)) {
      rest_.remove_prefix(expected.size());
    } else {
      ok_ = false;
    }
  }
  bool peek(std::string_view expected) const { return ok_ && rest_.starts_with(expected); }
  /// 1-based position of the name that stands here.
  template <std::size_t N>
  int one_of(const std::array<std::string_view, N>& names) {
    for (std::size_t i = 0; ok_ && i < N; ++i) {
      if (!rest_.starts_with(names[i])) continue;
      rest_.remove_prefix(names[i].size());
      return static_cast<int>(i) + 1;
    }
    ok_ = false;
    return 1;
  }
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

Error not_a(std::string_view what) {
  return Error(ErrorCode::invalid_argument, "not " + std::string(what));
}

}  // namespace

std::string format_amz_date(WallClock::time_point when) {
  const Fields f = split(when);
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(), "%04d%02d%02dT%02d%02d%02dZ", f.year, f.month, f.day, f.hour,
                f.minute, f.second);
  return text.data();
}

std::string format_http_date(WallClock::time_point when) {
  const Fields f = split(when);
  std::array<char, 16> day;
  std::snprintf(day.data(), day.size(), ", %02d ", f.day);
  std::array<char, 48> rest;
  std::snprintf(rest.data(), rest.size(), " %04d %02d:%02d:%02d GMT", f.year, f.hour, f.minute, f.second);
  std::string text(kDays[f.weekday]);
  text += day.data();
  text += kMonths[static_cast<std::size_t>(f.month - 1)];
  return text + rest.data();
}

std::string format_iso8601(WallClock::time_point when) {
  const Fields f = split(when);
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", f.year, f.month, f.day,
                f.hour, f.minute, f.second, f.millisecond);
  return text.data();
}

Result<WallClock::time_point> parse_amz_date(std::string_view text) {
  Scanner scan(text);
  const int year = scan.digits(4);
  const int month = scan.digits(2);
  const int day = scan.digits(2);
  scan.text("T");
  const int hour = scan.digits(2);
  const int minute = scan.digits(2);
  const int second = scan.digits(2);
  scan.text("Z");
  if (!scan.done()) return not_a("a date like 20260101T000000Z");
  return join(year, month, day, hour, minute, second);
}

namespace {

/// Sun, 06 Nov 1994 08:49:37 GMT
Result<WallClock::time_point> parse_imf_fixdate(std::string_view text) {
  Scanner scan(text);
  scan.one_of(kDays);
  scan.text(", ");
  const int day = scan.digits(2);
  scan.text(" ");
  const int month = scan.one_of(kMonths);
  scan.text(" ");
  const int year = scan.digits(4);
  scan.text(" ");
  const int hour = scan.digits(2);
  scan.text(":");
  const int minute = scan.digits(2);
  scan.text(":");
  const int second = scan.digits(2);
  scan.text(" GMT");
  if (!scan.done()) return not_a("an HTTP date");
  return join(year, month, day, hour, minute, second);
}

/// Sunday, 06-Nov-94 08:49:37 GMT
Result<WallClock::time_point> parse_rfc850(std::string_view text) {
  Scanner scan(text);
  scan.one_of(kLongDays);
  scan.text(", ");
  const int day = scan.digits(2);
  scan.text("-");
  const int month = scan.one_of(kMonths);
  scan.text("-");
  const int short_year = scan.digits(2);
  scan.text(" ");
  const int hour = scan.digits(2);
  scan.text(":");
  const int minute = scan.digits(2);
  scan.text(":");
  const int second = scan.digits(2);
  scan.text(" GMT");
  if (!scan.done()) return not_a("an HTTP date");
  // RFC 9110 5.6.7: more than 50 years ahead means the last century.
  const int this_year = split(WallClock::now()).year;
  int year = this_year / 100 * 100 + short_year;
  if (year > this_year + 50) year -= 100;
  return join(year, month, day, hour, minute, second);
}

/// Sun Nov  6 08:49:37 1994
Result<WallClock::time_point> parse_asctime(std::string_view text) {
  Scanner scan(text);
  scan.one_of(kDays);
  scan.text(" ");
  const int month = scan.one_of(kMonths);
  scan.text(" ");
  int day = 0;
  if (scan.peek(" ")) {
    scan.text(" ");
    day = scan.digits(1);
  } else {
    day = scan.digits(2);
  }
  scan.text(" ");
  const int hour = scan.digits(2);
  scan.text(":");
  const int minute = scan.digits(2);
  scan.text(":");
  const int second = scan.digits(2);
  scan.text(" ");
  const int year = scan.digits(4);
  if (!scan.done()) return not_a("an HTTP date");
  return join(year, month, day, hour, minute, second);
}

}  // namespace

Result<WallClock::time_point> parse_http_date(std::string_view text) {
  if (auto date = parse_imf_fixdate(text); date) return date;
  if (auto date = parse_rfc850(text); date) return date;
  return parse_asctime(text);
}

Result<WallClock::time_point> parse_iso8601(std::string_view text) {
  Scanner scan(text);
  const int year = scan.digits(4);
  scan.text("-");
  const int month = scan.digits(2);
  scan.text("-");
  const int day = scan.digits(2);
  scan.text("T");
  const int hour = scan.digits(2);
  scan.text(":");
  const int minute = scan.digits(2);
  scan.text(":");
  const int second = scan.digits(2);
  int millisecond = 0;
  if (scan.peek(".")) {
    scan.text(".");
    millisecond = scan.digits(3);
  }
  scan.text("Z");
  if (!scan.done()) return not_a("a date like 2026-01-01T00:00:00.000Z");
  return join(year, month, day, hour, minute, second, millisecond);
}

}  // namespace sluice
