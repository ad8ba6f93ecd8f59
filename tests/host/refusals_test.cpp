// SPDX-License-Identifier: Apache-2.0
// Record calls that are refused name what is wrong and leave the command buffer as it was.
#include <cstring>

#include "work.hpp"

namespace saccade::host {
namespace {

class RecordCall : public HostTest {
 protected:
  // Changes one range for one call and returns the message of the refusal.
  std::string refusal(SaccadeBuffer SaccadeAttentionBuffers::*range, const SaccadeBuffer& wrong, const char* field) {
    SaccadeAttentionBuffers buffers = work.buffers;
    buffers.*range = wrong;
    SaccadeMessage message{};
    EXPECT_EQ(saccadeCmdAttention(commands, work.plan, &buffers, &message), SACCADE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(message.field, field);
    return message.text;
  }

  Work work{host, context, kSplit};
  Commands commands{host};
};

TEST_F(RecordCall, ThatIsRefusedRecordsNothing) {
  const SaccadeBuffer scratch = work.buffers.scratch;
  const std::string needed = std::to_string(work.info().scratchBytes), given = std::to_string(work.info().scratchBytes - 1);
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text);
  };
  const std::string small = refusal(&SaccadeAttentionBuffers::scratch, {scratch.address, scratch.size - 1}, "scratch");
  expect(small, "scratch.size is " + given + " bytes");
  expect(small, "reach " + needed + " bytes");
  expect(refusal(&SaccadeAttentionBuffers::scratch, {scratch.address + 4, scratch.size}, "scratch"), "multiple of 16");
  expect(refusal(&SaccadeAttentionBuffers::scratch, {}, "scratch"), needed);
  expect(refusal(&SaccadeAttentionBuffers::out, {0, work.out.size}, "out"), "vkGetBufferDeviceAddress");
  commands.end();
  host.run({commands});
  for (size_t i = 0; i < work.out.size; i++) ASSERT_EQ(work.out.as<uint8_t>()[i], 0xff) << "byte " << i << " of out was written";
}

}  // namespace
}  // namespace saccade::host
