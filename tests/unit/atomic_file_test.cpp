// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "expect_file_error.hpp"
#include "temporary_folder.hpp"

namespace saccade::io {
namespace {

TEST(AtomicFile, AppearsOnCommitAndNotBefore) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "out.txt");
  file.write(std::as_bytes(std::span("ab", 2)));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.txt"));
  file.write(std::as_bytes(std::span("cd", 2)));
  file.commit();
  EXPECT_EQ(contentOf(folder / "out.txt"), "abcd");
  EXPECT_EQ(folder.countFiles(), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile(folder / "out.txt").write(std::as_bytes(std::span("ab", 2)));
  }
  EXPECT_EQ(folder.countFiles(), 0u);
}

TEST(AtomicFile, KeepsAnExistingFileUntilTheNewOneIsComplete) {
  const TemporaryFolder folder;
  const auto path = folder.file("out.txt", "old");
  {
    AtomicFile(path).write(std::as_bytes(std::span("new", 3)));
  }
  EXPECT_EQ(contentOf(path), "old");
  writeFileAtomically(path, std::string_view("new"));
  EXPECT_EQ(contentOf(path), "new");
  EXPECT_EQ(folder.countFiles(), 1u);
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileItReplaces) {
  const TemporaryFolder folder;
  const auto path = folder.file("out.txt", "old");
  ::chmod(path.c_str(), 0640);
  writeFileAtomically(path, std::string_view("new"));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, WritesWhatASymbolicLinkPointsTo) {
  const TemporaryFolder folder;
  const auto path = folder.file("target.txt", "old");
  std::filesystem::create_symlink("target.txt", folder / "link.txt");
  writeFileAtomically(folder / "link.txt", std::string_view("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(contentOf(path), "new");
}

TEST(AtomicFile, RefusesAFolderThatDoesNotExistAndNamesPathAndReason) {
  const TemporaryFolder folder;
  expectFileError([&] { AtomicFile file(folder / "missing/out.txt"); }, {"missing/out.txt", "No such file"});
}

TEST(AtomicFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  expectFileError([&] { AtomicFile file(folder.path()); }, {"folder"});
  expectFileError([] { AtomicFile file("/dev/null"); }, {"special file"});
}

// The superuser may write anywhere, so these two need an ordinary one.
class AsOrdinaryUser : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() == 0) {
      constexpr uid_t kNobody = 65534;
      ::chown(folder_.path().c_str(), kNobody, kNobody);
      ASSERT_EQ(::seteuid(kNobody), 0);
      wasRoot_ = true;
    }
  }
  void TearDown() override {
    if (wasRoot_) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }

  TemporaryFolder folder_;
  bool wasRoot_ = false;
};

TEST_F(AsOrdinaryUser, AReadOnlyFolderIsRefusedAndItsFilesStay) {
  const auto path = folder_.file("out.txt", "old");
  std::filesystem::permissions(folder_.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expectFileError([&] { writeFileAtomically(path, std::string_view("new")); },
                  {"out.txt", "Permission denied"});
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(folder_.countFiles(), 1u);
}

TEST_F(AsOrdinaryUser, AWriteProtectedFileIsRefusedAndStays) {
  const auto path = folder_.file("out.txt", "old");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  expectFileError([&] { writeFileAtomically(path, std::string_view("new")); }, {"Permission denied"});
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(folder_.countFiles(), 1u);
}

// Runs in a process of its own, where the limit does not hit other tests; ends with 7 if the write was
// refused as it should be.
[[noreturn]] void writeBeyondTheLimit(const std::filesystem::path& path) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, 1000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  try {
    writeFileAtomically(path, std::string(5000, 'x'));
  } catch (const FileError& error) {
    std::_Exit(std::string(error.what()).find("File too large") != std::string::npos ? 7 : 8);
  }
  std::_Exit(9);
}

// A limit on the size of files makes write() fail in the middle, as a full disk does.
TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto path = folder.file("out.txt", "old");
  EXPECT_EXIT(writeBeyondTheLimit(path), testing::ExitedWithCode(7), "");
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(folder.countFiles(), 1u);
}

}  // namespace
}  // namespace saccade::io
