// Package difftest holds the vendors' own Go SDKs against the adapters: both
// read the recorded streams of llmtest over HTTP and must agree on text,
// reasoning, refusal, tool calls, finish reason, usage and failure. It is a
// module of its own so that Parley does not depend on the SDKs.
//
// Where they differ, it is listed with its reason in openaiDiffers and
// anthropicDiffers; an entry that no longer differs fails the test.
package difftest
