package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley/llm/sse"
)

// A frame recognised by the bytes around its text must mean the same as when it is parsed, whatever preceded it.
func TestRepeatedFramesSayTheSame(t *testing.T) {
	t.Parallel()
	shapes := []string{
		`{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"TEXT"},"finish_reason":null}],` +
			`"usage":null}`,
		`{"id":"a","choices":[{"index":0,"delta":{"reasoning_content":"TEXT"},"finish_reason":null}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":"x","reasoning":"TEXT"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"refusal":"TEXT"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"}},{"index":0,"delta":{"content":"TEXT"}}]}`,
		`{"id":"a","choices":[{"index":1,"delta":{"content":"TEXT"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT","tool_calls":[{"index":0,"id":"c",` +
			`"function":{"name":"f","arguments":"TEXT"}}]}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"TEXT"}]}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":null}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"}}]`,
	}
	texts := []string{"a", " word", "", `\"`, `\ud83d`, `\ude00`, "é", "\xc3", "\xa9", `"},"x":{"y":"`, `"`, "\t", `\\`}
	rapid.Check(t, func(t *rapid.T) {
		reused, fresh := &decoder{current: none}, &decoder{current: none}
		for range rapid.IntRange(1, 30).Draw(t, "frames") {
			shape := rapid.SampledFrom(shapes).Draw(t, "shape")
			text := rapid.SampledFrom(texts).Draw(t, "text")
			frame := sse.Frame{Data: []byte(strings.ReplaceAll(shape, "TEXT", text))}
			fresh.last = repeated{}
			want, _, wantErr := fresh.Decode(frame, nil)
			got, _, gotErr := reused.Decode(frame, nil)
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%s: %v, read anew %v", frame.Data, gotErr, wantErr)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s:\n%s", frame.Data, diff)
			}
		}
	})
}
