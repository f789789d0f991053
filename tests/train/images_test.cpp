// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <set>

#include "base/log.hpp"
#include "tests/train/data_support.hpp"
#include "worker/train/data/image_loader.hpp"
#include "worker/train/data/image_view.hpp"
#include "worker/train/data/jpeg.hpp"
#include "worker/train/data/jpeg_file.hpp"
#include "worker/train/data/normalise.hpp"

namespace batchsweep::train {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// One colour, so that compression loses nothing to speak of; with a step, red rises to the right.
std::string jpeg_of(int red, int green, int blue, int width = 40, int height = 32, int step = 0) {
  std::vector<unsigned char> pixels;
  for (int i = 0; i < width * height; ++i) {
    pixels.push_back(static_cast<unsigned char>(red + step * (i % width)));
    pixels.push_back(static_cast<unsigned char>(green));
    pixels.push_back(static_cast<unsigned char>(blue));
  }
  tjhandle handle = tjInitCompress();
  unsigned char* made = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(handle, pixels.data(), width, 0, height, TJPF_RGB, &made, &size, TJSAMP_420,
                        95, 0),
            0);
  std::string bytes(reinterpret_cast<const char*>(made), size);
  tjFree(made);
  tjDestroy(handle);
  return bytes;
}

// `images` of each of two classes: the red of image i of class c is 20 c + 5 i.
void write_two_classes(const Scratch& files, int images, int step = 0) {
  for (int label = 0; label < 2; ++label) {
    for (int i = 0; i < images; ++i) {
      files.write("photos/" + std::string(label == 0 ? "cat" : "dog") + "/" +
                      std::to_string(100 + i) + ".jpg",
                  jpeg_of(100 * label + 5 * i, 60, 60, 40, 32, step));
    }
  }
}

sweeps::TrialSpec images_spec(const Scratch& files, std::int64_t batch_size,
                              const std::string& model = "resnet18") {
  auto spec = spec_of(model, "images:" + files.path("photos"), batch_size);
  spec.image_height = spec.image_width = 32;
  return spec;
}

class DecodeThreads {
 public:
  explicit DecodeThreads(const char* count) { setenv("BATCHSWEEP_DECODE_THREADS", count, 1); }
  ~DecodeThreads() { unsetenv("BATCHSWEEP_DECODE_THREADS"); }
};

TEST(Images, AreNormalisedAndCarryTheClassOfTheirFolder) {
  const Scratch files;
  write_two_classes(files, 4);
  const Batch batch = open(images_spec(files, 8))->next();
  EXPECT_EQ(batch.input.sizes(), at::IntArrayRef({8, 3, 32, 32}));
  EXPECT_TRUE(batch.input.is_contiguous());
  EXPECT_EQ(batch.samples, 8);
  EXPECT_EQ(batch.tokens, 0);
  std::multiset<std::int64_t> reds;
  for (std::int64_t i = 0; i < 8; ++i) {
    const double red = (batch.input[i][0].mean().item<double>() * 0.229 + 0.485) * 255;
    const double green = (batch.input[i][1].mean().item<double>() * 0.224 + 0.456) * 255;
    EXPECT_NEAR(green, 60, 2);
    EXPECT_EQ(batch.target[i].item<std::int64_t>(), red < 90 ? 0 : 1) << red;
    reds.insert(std::llround(red / 5));
  }
  EXPECT_EQ(reds, (std::multiset<std::int64_t>{0, 1, 2, 3, 20, 21, 22, 23}));  // each once
}

TEST(Images, RanksSeeTogetherWhatOneRankWouldSee) {
  const Scratch files;
  write_two_classes(files, 7, 1);
  files.write("photos/cat/103.jpg", "no image");
  auto spec = images_spec(files, 4);
  const auto whole = open(spec);
  spec.batch_size = spec.world_size = 2;
  const auto first = open_rank(spec, 0), second = open_rank(spec, 1);
  for (int i = 0; i < 8; ++i) {  // two epochs and more
    const Batch expected = whole->next(), a = first->next(), b = second->next();
    EXPECT_TRUE(at::equal(at::cat({a.input, b.input}), expected.input)) << i;
    EXPECT_TRUE(at::equal(at::cat({a.target, b.target}), expected.target)) << i;
  }
}

TEST(Normaliser, TakesOffTheMeanAndDividesByTheDeviationInBothLayouts) {
  const at::Tensor pixels = at::arange(2 * 5 * 7 * 3).fmod(256).to(at::kByte).view({2, 5, 7, 3});
  const at::Tensor mean = at::tensor({0.485, 0.456, 0.406}),
                   deviation = at::tensor({0.229, 0.224, 0.225});
  const at::Tensor expected =
      ((pixels.to(at::kDouble) / 255 - mean) / deviation).permute({0, 3, 1, 2});
  const Normaliser normalise(c10::kCPU);
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor images = normalise(pixels, format);
    EXPECT_TRUE(images.is_contiguous(format));
    EXPECT_TRUE(at::allclose(images.to(at::kDouble), expected, /*rtol=*/0, /*atol=*/1e-6))
        << format;
  }
}

TEST(Images, ComeInTheModelsTypeFormatAndChannels) {
  const Scratch files;
  write_two_classes(files, 2);
  const auto spec = sweeps::with_defaults(images_spec(files, 2));
  const Batch batch = open_data({.spec = spec,
                                 .seed = 1,
                                 .type = at::kBFloat16,
                                 .format = at::MemoryFormat::ChannelsLast})
                          ->next();
  EXPECT_EQ(batch.input.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(batch.input.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(open(images_spec(files, 2, "lenet"))->next().input.sizes(),
            at::IntArrayRef({2, 1, 32, 32}));
}

TEST(Images, AreTheSameHoweverManyThreadsDecodeAndHoweverTheyAreCut) {
  const Scratch files;
  write_two_classes(files, 10, /*step=*/2);  // each crop shows
  const auto first_images = [&](const char* threads, std::int64_t batch_size) {
    const DecodeThreads set(threads);
    const auto data = open(images_spec(files, batch_size));
    std::vector<at::Tensor> images;
    for (std::int64_t i = 0; i < 60; i += batch_size) images.push_back(data->next().input);
    return at::cat(images);
  };
  const at::Tensor one = first_images("1", 10);
  EXPECT_TRUE(at::equal(one, first_images("7", 10)));
  EXPECT_TRUE(at::equal(one, first_images("3", 20)));
  EXPECT_FALSE(at::equal(one.slice(0, 0, 20), one.slice(0, 20, 40)));  // another order and crop
}

TEST(Images, SkipWhatIsNoWholeJpegAndStayFull) {
  const Scratch files;
  write_two_classes(files, 20);
  files.write("photos/cat/cut.jpg", jpeg_of(0, 0, 0, 400, 400).substr(0, 900));
  files.write("photos/cat/empty.JPEG", "");
  files.write("photos/dog/text.jpeg", "I am no picture.");
  files.write("photos/dog/notes.txt", "not looked at");
  start_log("test");
  testing::internal::CaptureStderr();
  {
    const auto data = open(images_spec(files, 43));
    for (int i = 0; i < 3; ++i) {
      const Batch batch = data->next();
      EXPECT_EQ(batch.input.size(0), 43);
      EXPECT_TRUE(batch.input.isfinite().all().item<bool>());
    }
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              AllOf(HasSubstr("cut.jpg: it is truncated"), HasSubstr("empty.JPEG: it is empty"),
                    HasSubstr("text.jpeg: no JPEG file (")));
  EXPECT_EQ(said.find("text.jpeg"), said.rfind("text.jpeg")) << said;  // once
}

TEST(Images, FailOnceMoreThanOneInTenHadToBeSkipped) {
  const Scratch files;
  write_two_classes(files, 10);
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"})
    files.write(std::string("photos/dog/") + name, "no picture");
  EXPECT_THAT(
      message_of(images_spec(files, 23), 1),
      AllOf(HasSubstr("3 of the 23 files read so far had to be skipped, more than one in 10"),
            HasSubstr(".jpg: no JPEG file")));
  const Scratch none;
  none.write("photos/cat/a.jpg", "no picture");
  none.write("photos/dog/b.jpg", "");
  EXPECT_THAT(message_of(images_spec(none, 1), 1), HasSubstr("2 of the 2 files read so far"));
}

TEST(Images, SayWhatIsWrongWithTheFolder) {
  const Scratch files;
  fs::create_directories(files.path("photos"));
  EXPECT_THAT(message_of(images_spec(files, 1)), HasSubstr("photos holds no class"));
  files.write("photos/cat/1.jpg", jpeg_of(1, 1, 1));
  EXPECT_THAT(message_of(images_spec(files, 1)), HasSubstr("holds one class only (cat)"));
  files.write("photos/dog/1.png", "");
  EXPECT_THAT(message_of(images_spec(files, 1)),
              HasSubstr("holds no .jpg or .jpeg file of the class dog"));
  files.write("photos/dog/1.JPG", jpeg_of(1, 1, 1));
  EXPECT_EQ(message_of(images_spec(files, 2), 1), "");
  EXPECT_THAT(message_of(images_spec(files, 3)),
              HasSubstr("batch size 3 is more than all 2 samples of images:"));
  auto few = images_spec(files, 1);
  few.num_classes = 1;
  EXPECT_THAT(message_of(few), HasSubstr("num_classes 1 is too few for the 2 classes"));
  EXPECT_THAT(message_of(images_spec(files, 1, "bert-tiny")), HasSubstr("no model of images"));
  EXPECT_THAT(message_of(spec_of("resnet18", "images:/no/such/folder", 1)),
              HasSubstr("cannot read the images of /no/such/folder"));
  const DecodeThreads nonsense("many");
  EXPECT_THAT(message_of(images_spec(files, 1)),
              HasSubstr("BATCHSWEEP_DECODE_THREADS is \"many\": expected 1 to 256"));
}

TEST(Jpeg, IsReadByTheSameDecoderAfterOneThatIsNot) {
  const Scratch files;
  JpegDecoder decoder;
  files.write("text.jpg", "I am no picture.");
  std::string claims = jpeg_of(9, 9, 9);
  claims.replace(claims.find("\xFF\xC0") + 5, 4, 4, '\xFF');
  files.write("claims.jpg", claims);
  files.write("nothing.jpg", "\xFF\xD8");
  files.write("good.jpg", jpeg_of(200, 100, 50));
  for (const char* bad : {"text.jpg", "nothing.jpg", "claims.jpg"}) {
    EXPECT_NE(decoder.open(files.path(bad)), std::nullopt) << bad;
    EXPECT_EQ(decoder.open(files.path("good.jpg")), std::nullopt) << "after " << bad;
    EXPECT_EQ(decoder.decode({.top = 3, .left = 5, .height = 7, .width = 11}), std::nullopt);
    EXPECT_EQ(decoder.picture().size.height, 7) << "after " << bad;
  }
}

TEST(Jpeg, RefusesHugeClaimsAndTakesWhatHasMoreBehindItsEnd) {
  const Scratch files;
  JpegDecoder decoder;
  std::string claims = jpeg_of(9, 9, 9);
  const std::size_t frame = claims.find("\xFF\xC0");
  ASSERT_NE(frame, claims.npos);
  for (std::size_t i = 5; i < 9; i += 2) {  // 65000 twice
    claims[frame + i] = '\xFD';
    claims[frame + i + 1] = '\xE8';
  }
  files.write("claims.jpg", claims);
  EXPECT_EQ(decoder.open(files.path("claims.jpg")), "claims 65000 x 65000 pixels");
  files.write("behind.jpg", jpeg_of(200, 100, 50) + "something behind the end");
  EXPECT_EQ(decoder.open(files.path("behind.jpg")), std::nullopt);
  EXPECT_EQ(decoder.decode({.height = 32, .width = 40}), std::nullopt);
  EXPECT_EQ(decoder.picture().size.width, 40);
  EXPECT_NEAR(decoder.picture().pixels[0], 200, 2);
  EXPECT_EQ(decoder.open(files.path("nowhere.jpg")), "No such file or directory");
}

TEST(Jpeg, EndsWithTheMarkerBehindItsScansAndNotWithOneInItsHeader) {
  const std::string whole = jpeg_of(200, 100, 50);
  const auto has_end_of = [](const std::string& bytes) {
    return has_end({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  };
  EXPECT_TRUE(has_end_of(whole));
  EXPECT_TRUE(has_end_of(whole + "more"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(has_end_of(whole.substr(0, length))) << length;
  // A small picture of its own in an application's segment, as cameras write it.
  std::string with_preview = whole, preview = std::string("\xFF\xE1\0\0", 4) + whole;
  preview[2] = static_cast<char>((preview.size() - 2) >> 8);
  preview[3] = static_cast<char>((preview.size() - 2) & 0xFF);
  with_preview.insert(2, preview);
  EXPECT_TRUE(has_end_of(with_preview));
  EXPECT_FALSE(has_end_of(with_preview.substr(0, with_preview.size() - 2)));
}

TEST(TrainingView, TakesEightToAHundredPercentOfTheAreaAndMirrorsHalf) {
  const PixelSize picture{.height = 300, .width = 400}, size{.height = 224, .width = 224};
  SmallRandom random(1);
  double mirrored = 0, least = 1, most = 0, narrowest = 9, widest = 0;
  constexpr int kViews = 20'000;
  for (int i = 0; i < kViews; ++i) {
    const Resampling view = training_view(picture, size, random);
    EXPECT_GE(view.from.top, 0);
    EXPECT_GE(view.from.left, 0);
    EXPECT_LE(view.from.top + view.from.height, picture.height);
    EXPECT_LE(view.from.left + view.from.width, picture.width);
    const double area = 1.0 * view.from.height * view.from.width / (300 * 400);
    const double ratio = 1.0 * view.from.width / view.from.height;
    least = std::min(least, area);
    most = std::max(most, area);
    narrowest = std::min(narrowest, ratio);
    widest = std::max(widest, ratio);
    mirrored += view.mirrored;
  }
  EXPECT_NEAR(least, 0.08, 0.002);
  EXPECT_GT(most, 0.98);
  EXPECT_NEAR(narrowest, 3.0 / 4, 0.01);
  EXPECT_NEAR(widest, 4.0 / 3, 0.01);
  EXPECT_NEAR(mirrored / kViews, 0.5, 0.02);
}

TEST(TrainingView, FallsBackToTheMiddleOfLongPictures) {
  SmallRandom random(1);
  const Resampling wide =
      training_view({.height = 10, .width = 1000}, {.height = 8, .width = 8}, random);
  EXPECT_EQ(wide.from.height, 10);
  EXPECT_EQ(wide.from.width, 13);
  EXPECT_EQ(wide.from.left, 493);
}

TEST(EvaluationView, IsTheMiddleOfThePictureScaledTo256Of224) {
  const Resampling view =
      evaluation_view({.height = 375, .width = 500}, {.height = 224, .width = 224});
  EXPECT_EQ(view.to.height, 256);
  EXPECT_EQ(view.to.width, 341);
  EXPECT_EQ(view.window.top, 16);
  EXPECT_EQ(view.window.left, 58);  // 58.5, half to even
  EXPECT_FALSE(view.mirrored);
}

}  // namespace
}  // namespace batchsweep::train
