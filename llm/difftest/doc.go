// Package difftest compares the adapters with the vendors' own Go SDKs: both read the recorded streams of llmtest over
// HTTP and must agree on text, reasoning, refusal, tool calls, finish reason, usage and failure. It is a module of its
// own so that Parley does not depend on the SDKs.
//
// Differences are listed with their reasons in openaiDiffers and anthropicDiffers; an entry that no longer differs
// fails the test.
package difftest
