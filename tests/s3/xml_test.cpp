#include "s3/xml.h"

#include <gtest/gtest.h>
// rapidcheck wants gtest first
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>

#include "base/limits.h"
#include "s3/support.h"

namespace sluice::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const char* kList = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bkt</Name><Prefix/><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>
  <Contents><Key>a&amp;b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e1&quot;</ETag><Size>5</Size>
    <StorageClass>STANDARD</StorageClass><Owner><ID>x</ID></Owner></Contents>
  <CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes>
</ListBucketResult>)";

ListBucketResult listing_of(const std::string& key, bool url_encoded) {
  ListBucketResult result;
  result.bucket = "bkt";
  result.url_encoded = url_encoded;
  result.objects.push_back({key, 7, "etag", amz_time("20260101T000000Z")});
  return result;
}

TEST(XmlEscapeTest, EscapesMarkupAndWhitespaceControls) {
  EXPECT_EQ(xml_escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&apos;");
  EXPECT_EQ(xml_escape("\t\r\n"), "&#9;&#13;&#10;");
  EXPECT_EQ(xml_escape("]]>"), "]]&gt;");
  EXPECT_EQ(xml_escape("\xc3\xa9\xf0\x9f\x98\x80"), "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(XmlEscapeTest, ReplacesWhatXmlCannotCarry) {
  EXPECT_EQ(xml_escape("a\x01"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(xml_escape(std::string("\0", 1)), "\xEF\xBF\xBD");
  EXPECT_EQ(xml_escape("\xff\xef\xbf\xbf"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_FALSE(is_xml_text("a\x01"));
  EXPECT_FALSE(is_xml_text("\xed\xa0\x80"));
  EXPECT_TRUE(is_xml_text("a\t\r\n\x7f\xc3\xa9"));
}

TEST(ListObjectsXmlTest, IsWrittenAsS3WritesIt) {
  ListBucketResult result = listing_of("a b", false);
  result.prefix = "p<";
  result.delimiter = "/";
  result.truncated = true;
  result.next_continuation_token = "next";
  result.common_prefixes = {"x/"};
  const std::string xml = to_xml(result);
  EXPECT_THAT(xml, HasSubstr("<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"));
  EXPECT_THAT(xml, HasSubstr("<Prefix>p&lt;</Prefix>"));
  EXPECT_THAT(xml, HasSubstr("<KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated>"));
  EXPECT_THAT(xml, HasSubstr("<NextContinuationToken>next</NextContinuationToken>"));
  EXPECT_THAT(
      xml,
      HasSubstr(
          "<Contents><Key>a b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
          "<ETag>&quot;etag&quot;</ETag><Size>7</Size><StorageClass>STANDARD</StorageClass></Contents>"));
  EXPECT_THAT(xml, HasSubstr("<CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes>"));
  EXPECT_THAT(xml, Not(HasSubstr("EncodingType")));
}

TEST(ListObjectsXmlTest, UrlEncodingCoversKeysPrefixesAndDelimiter) {
  ListBucketResult result = listing_of("a b+\x01/\xff", true);
  result.prefix = "a b";
  result.delimiter = "+";
  result.common_prefixes = {"c d/"};
  const std::string xml = to_xml(result);
  EXPECT_THAT(xml, HasSubstr("<EncodingType>url</EncodingType>"));
  EXPECT_THAT(xml, HasSubstr("<Key>a%20b%2B%01/%FF</Key>"));
  EXPECT_THAT(xml, HasSubstr("<Prefix>a%20b</Prefix>"));
  EXPECT_THAT(xml, HasSubstr("<Delimiter>%2B</Delimiter>"));
  EXPECT_THAT(xml, HasSubstr("<CommonPrefixes><Prefix>c%20d/</Prefix></CommonPrefixes>"));
  const auto read = parse_list_objects(xml);
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->objects.at(0).key, "a b+\x01/\xff");
  EXPECT_EQ(read->prefix, "a b");
  EXPECT_EQ(read->delimiter, "+");
}

TEST(ListObjectsXmlTest, BadCharactersDoNotSpoilTheOtherKeys) {
  ListBucketResult result = listing_of("bad\x01", false);
  result.objects.push_back({"good", 1, "e", amz_time("20260101T000000Z")});
  const auto read = parse_list_objects(to_xml(result));
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->objects.at(0).key, "bad\xEF\xBF\xBD");
  EXPECT_EQ(read->objects.at(1).key, "good");
}

TEST(ListObjectsXmlTest, IsReadFromForeignServers) {
  const auto read = parse_list_objects(kList);
  ASSERT_THAT(read, test::IsOk());
  ASSERT_EQ(read->objects.size(), 1U);
  EXPECT_EQ(read->objects[0].key, "a&b");
  EXPECT_EQ(read->objects[0].bytes, 5U);
  EXPECT_EQ(read->objects[0].etag, "e1");
  EXPECT_EQ(read->objects[0].modified, amz_time("20260101T000000Z"));
  EXPECT_THAT(read->common_prefixes, ElementsAre("photos/"));
  EXPECT_FALSE(read->truncated);
}

TEST(ListObjectsXmlTest, NamespacePrefixesCdataAndCommentsAreRead) {
  const auto read = parse_list_objects(
      "<s3:ListBucketResult xmlns:s3=\"x\"><s3:Contents><s3:Key><![CDATA[a<]]>b<!-- c "
      "-->d</s3:Key><s3:Size>1</s3:Size>"
      "</s3:Contents></s3:ListBucketResult>");
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->objects.at(0).key, "a<bd");
}

TEST(ListObjectsXmlTest, BlankKeysAreKeys) {
  EXPECT_EQ(parse_list_objects(to_xml(listing_of("  ", false)))->objects.at(0).key, "  ");
}

TEST(ListObjectsXmlTest, PlusInAnEncodedKeyIsABlank) {
  const auto read = parse_list_objects(
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a+b%2Bc</Key><Size>1</Size></"
      "Contents></ListBucketResult>");
  EXPECT_EQ(read->objects.at(0).key, "a b+c");
}

TEST(ListObjectsXmlTest, RefusesWhatWouldLoseKeys) {
  const auto parse = [](const std::string& inner) {
    return parse_list_objects("<ListBucketResult>" + inner + "</ListBucketResult>");
  };
  EXPECT_THAT(parse("<IsTruncated>true</IsTruncated>"),
              test::Fails(ErrorCode::protocol_error, "NextContinuationToken"));
  EXPECT_THAT(parse("<IsTruncated>maybe</IsTruncated>"),
              test::Fails(ErrorCode::protocol_error, "IsTruncated"));
  EXPECT_THAT(parse("<Contents><Size>1</Size></Contents>"),
              test::Fails(ErrorCode::protocol_error, "without a key"));
  EXPECT_THAT(parse("<Contents><Key>k</Key></Contents>"), test::Fails(ErrorCode::protocol_error, "Size"));
  EXPECT_THAT(parse("<Contents><Key>k</Key><Size>-1</Size></Contents>"),
              test::Fails(ErrorCode::protocol_error, "Size"));
  EXPECT_THAT(parse("<Contents><Key>k</Key><Size>1</Size><LastModified>x</LastModified></Contents>"),
              test::Fails(ErrorCode::protocol_error, "LastModified"));
  EXPECT_THAT(parse("<EncodingType>url</EncodingType><Contents><Key>%zz</Key><Size>1</Size></Contents>"),
              test::Fails(ErrorCode::protocol_error, "percent"));
  EXPECT_THAT(parse("<CommonPrefixes/>"), test::Fails(ErrorCode::protocol_error, "common prefix"));
}

TEST(ListBucketsXmlTest, RoundTrips) {
  ListAllMyBucketsResult result;
  result.owner_id = "me & you";
  result.buckets = {{"first", amz_time("20260101T000000Z")}, {"second", amz_time("20251231T235959Z")}};
  const auto read = parse_list_buckets(to_xml(result));
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->owner_id, "me & you");
  ASSERT_EQ(read->buckets.size(), 2U);
  EXPECT_EQ(read->buckets[1].name, "second");
  EXPECT_EQ(read->buckets[1].created, amz_time("20251231T235959Z"));
  EXPECT_TRUE(parse_list_buckets("<ListAllMyBucketsResult/>")->buckets.empty());
}

TEST(ErrorXmlTest, RoundTrips) {
  const auto read = parse_error_document(to_xml(ErrorDocument{"NoSuchKey", "no <such> key", "/b/k&", "id"}));
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->code, "NoSuchKey");
  EXPECT_EQ(read->message, "no <such> key");
  EXPECT_EQ(read->resource, "/b/k&");
  EXPECT_EQ(read->request_id, "id");
}

TEST(CreateBucketXmlTest, AcceptsNothingAndALocation) {
  EXPECT_THAT(parse_create_bucket_body(""), test::IsOkAndHolds(""));
  EXPECT_THAT(parse_create_bucket_body(" \r\n"), test::IsOkAndHolds(""));
  EXPECT_THAT(parse_create_bucket_body("<CreateBucketConfiguration/>"), test::IsOkAndHolds(""));
  EXPECT_THAT(
      parse_create_bucket_body("<CreateBucketConfiguration xmlns=\"x\"><LocationConstraint>eu-central-1"
                               "</LocationConstraint></CreateBucketConfiguration>"),
      test::IsOkAndHolds("eu-central-1"));
  for (const char* bad : {"x", "<Other/>", "<CreateBucketConfiguration>", "{}"}) {
    EXPECT_THAT(parse_create_bucket_body(bad), FailsWith("MalformedXML")) << bad;
  }
}

TEST(HostileXmlTest, DepthSizeAndEntitiesAreBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  for (int i = 0; i < 100000; ++i) deep += "</a>";
  EXPECT_THAT(parse_list_objects("<ListBucketResult>" + deep + "</ListBucketResult>"),
              test::Fails(ErrorCode::protocol_error, "nested too deeply"));
  EXPECT_THAT(parse_list_objects(std::string(limits::kListBodyBytes + 1, ' ')),
              test::Fails(ErrorCode::protocol_error, "larger"));
  const auto laughs = parse_error_document(
      "<!DOCTYPE Error [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]>"
      "<Error><Code>X</Code><Message>&b;&c;</Message></Error>");
  ASSERT_THAT(laughs, test::IsOk());
  EXPECT_EQ(laughs->message, "&b;&c;") << "entities of a DTD are text";
}

RC_GTEST_PROP(XmlPropertyTest, UrlEncodedKeysOfAnyBytesRoundTrip,
              (const std::string& key, const std::string& prefix)) {
  RC_PRE(!key.empty());
  ListBucketResult result = listing_of(key, true);
  result.prefix = prefix;
  const auto read = parse_list_objects(to_xml(result));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->objects.at(0).key == key);
  RC_ASSERT(read->prefix == prefix);
}

RC_GTEST_PROP(XmlPropertyTest, PlainKeysRoundTripWhereXmlCanCarryThem, ()) {
  const auto key = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element(
      'a', '&', '<', '>', '"', '\'', ';', '#', ' ', '\t', '\r', '\n', ']', '!', '-', '%', '+', '/')));
  const auto read = parse_list_objects(to_xml(listing_of(key, false)));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->objects.at(0).key == key);
}

}  // namespace
}  // namespace sluice::s3
