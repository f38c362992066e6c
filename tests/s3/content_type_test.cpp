#include "s3/content_type.h"

#include <gtest/gtest.h>

#include "base/headers.h"

namespace sluice::s3 {
namespace {

TEST(ContentTypeTest, GoesByTheLastExtensionInAnyCase) {
  EXPECT_EQ(content_type_of("index.html"), "text/html");
  EXPECT_EQ(content_type_of("a/b.c/photo.JPeG"), "image/jpeg");
  EXPECT_EQ(content_type_of("data.tar.gz"), "application/gzip");
  EXPECT_EQ(content_type_of("model.safetensors"), "application/x-safetensors");
  EXPECT_EQ(content_type_of("table.parquet"), "application/vnd.apache.parquet");
  EXPECT_EQ(content_type_of("x.7z"), "application/x-7z-compressed");
  EXPECT_EQ(content_type_of("x.zst"), "application/zstd");
}

TEST(ContentTypeTest, FallsBackToBytes) {
  for (const char* name :
       {"", "README", "a.b/c", ".html", "dir/.json", "x.", "x.unknown", "html", "x.html/", "x.\xc3\xa9"}) {
    EXPECT_EQ(content_type_of(name), kDefaultContentType) << name;
  }
}

}  // namespace
}  // namespace sluice::s3
