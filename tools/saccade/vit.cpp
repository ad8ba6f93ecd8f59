// SPDX-License-Identifier: Apache-2.0
#include "vit_options.hpp"

#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"

namespace saccade::tool {

namespace {

constexpr const char* kVitExamples =
    "  saccade vit --model models/fashion_vit/fashion_vit.safetensors models/fashion_vit/samples/*.png\n"
    "      the classes of pictures\n"
    "  saccade vit --model ~/.cache/saccade/dinov2s.safetensors models/dinov2/samples/* --attention maps\n"
    "      a backbone without classes: which pictures are alike, and maps/*.png of what each head looks at\n"
    "  saccade vit --model dinov2s.safetensors portrait.jpg --attention maps --size 504 --crop 1\n"
    "      a finer map, 36 x 36 patches instead of 16 x 16, of the picture to its edges\n"
    "  saccade vit --model fashion_vit.safetensors --idx t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz\n"
    "      a whole data set\n"
    "An attention map shows the picture, what the class token attends to in each head of the last layer, and the mean\n"
    "of the heads. Models are safetensors files with the names of timm's VisionTransformer or Hugging Face's DINOv2.\n"
    "Pictures are PNG or JPEG; those of another size than the model's are scaled and cropped to the centre.";

}  // namespace

void addVitCommand(CLI::App& app, Globals& globals) {
  const auto options = std::make_shared<VitOptions>();
  CLI::App& command =
      addSubcommand(app, globals, "vit",
                    "Run a Vision Transformer on pictures: classes, features, attention maps", kVitExamples);
  command.add_option("--model", options->model, "Weights, a safetensors file")->required()->type_name("FILE");
  CLI::Option* pictures =
      command.add_option("pictures", options->pictures, "PNG or JPEG files")->type_name("PICTURE");
  CLI::Option* attention =
      command.add_option("--attention", options->attention, "Write an attention map of every picture into this folder")
          ->type_name("DIR");
  CLI::Option* top = command.add_option("--top", options->top, "How many classes to print for a picture")
                         ->check(CLI::PositiveNumber)
                         ->capture_default_str();
  CLI::Option* size =
      command.add_option("--size", options->size,
                         "Bring pictures to SIZE x SIZE pixels, a multiple of the patch size; without it the size "
                         "that the model was trained with, or 224 for a backbone")
          ->check(CLI::Range(1, 4096))
          ->type_name("SIZE");
  CLI::Option* crop =
      command.add_option("--crop", options->crop,
                         "How much of a picture's shorter side is looked at; the rest is border. Pictures that "
                         "have the right size already are not cropped")
          ->check(CLI::Range(0.1, 1.0))
          ->capture_default_str()
          ->type_name("SHARE");
  command.add_option("--batch", options->batch, "Pictures per forward; without it 8, or 250 of a data set")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  CLI::Option* images =
      command.add_option("--idx", options->images, "Classify the images of this idx file (may be gzipped)")
          ->type_name("FILE");
  CLI::Option* labels = command.add_option("--labels", options->labels, "Their classes, an idx file, for the accuracy")
                            ->type_name("FILE");
  CLI::Option* expected =
      command.add_option("--expect", options->expected, "A byte per image: the classes that another program gave")
          ->type_name("FILE");
  CLI::Option* minAgreement = command.add_option("--min-agreement", options->minAgreement,
                                                 "Exit code 1 unless that many images get the class that --expect says")
                                  ->check(CLI::NonNegativeNumber)
                                  ->type_name("N");
  labels->needs(images);
  expected->needs(images);
  minAgreement->needs(expected);
  for (CLI::Option* ofPictures : {pictures, attention, top, size, crop}) {
    images->excludes(ofPictures);
  }
  addKernelOption(command, globals);
  addJsonOption(command, globals);
  setAction(command, globals, [&globals, options] {
    if (!options->images.empty()) {
      return classifyDataSet(globals, *options);
    }
    if (options->pictures.empty()) {
      throw UsageError("pictures", "none are given; name PNG or JPEG files, or a data set with --idx");
    }
    return lookAtPictures(globals, *options);
  });
}

}  // namespace saccade::tool
