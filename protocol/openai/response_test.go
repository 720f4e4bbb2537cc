package openai

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// However a text arrives, it is cut at the same places: the numbers of a stream's events depend on it.
func TestTextsAreCutWhereTheySay(t *testing.T) {
	t.Parallel()
	text := []byte("Grüße aus Köln – 日本語もあります。 And some plain words behind them, up to the end.")
	cuts := func(step int) (at []int) {
		sent := 0
		for end := 0; end < len(text); {
			end = min(len(text), end+step)
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end++
			}
			for sent < end {
				n := cutAt(text[sent:end], sent == 0, end == len(text))
				if n == 0 {
					break
				}
				sent += n
				at = append(at, sent)
			}
		}
		return at
	}
	want := cuts(len(text))
	if len(want) < 4 || want[0] != 1 || want[len(want)-1] != len(text) {
		t.Fatalf("the whole text is cut at %v", want)
	}
	for step := 1; step < len(text); step++ {
		if got := cuts(step); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d it is cut at %v, want %v", step, got, want)
		}
	}
}

func TestResponseParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	said := func(part string) string { return `{"model":"m","input":[{"role":"user","content":[` + part + `]}]}` }
	for body, field := range map[string]string{
		`{"model":"m"}`:            "input",
		`{"input":"x"}`:            "model",
		`{"model":"m","input":[]}`: "input",
		`{"model":"m","input":[{"role":"assistant","content":"x"}]}`: "input",
		`{"model":"m","input":[{"role":"user"}]}`:                    "input[0].content",
		`{"model":"m","input":[{"type":"item_reference"}]}`:          "input[0].id",
		said(`{"type":"input_file","file_id":"f"}`):                  "input[0].content[0].file_data",
		said(`{"type":"input_image","file_id":"f"}`):                 "input[0].content[0].image_url",
		said(`7`): "input[0].content[0]",
		said(strings.TrimSuffix(strings.Repeat("{},", parley.MaxParts+1), ",")):   "input[0].content",
		`{"model":"m","input":"x","nonsense":1}`:                                  "nonsense",
		`{"model":"m","input":"x","prompt":{"id":"p"}}`:                           "prompt",
		`{"model":"m","input":"x","max_tool_calls":3}`:                            "max_tool_calls",
		`{"model":"m","input":"x","background":true,"store":false}`:               "background",
		`{"model":"m","input":"x","conversation":"c","store":false}`:              "store",
		`{"model":"m","input":"x","conversation":{}}`:                             "conversation",
		`{"model":"m","input":"x","conversation":"c","previous_response_id":"r"}`: "previous_response_id",
		`{"model":"m","input":"x","metadata":{"openai.response":"x"}}`:            "metadata",
		`{"model":"m","input":"x","text":{"verbosity":"low"}}`:                    "text.verbosity",
	} {
		_, err := decodeResponse([]byte(body))
		var known *parley.Error
		if !errors.As(err, &known) || known.Field != field {
			t.Errorf("%s: %v; want an error about %s", body, err, field)
		}
	}
}

// Whatever is sent, reading it ends without a panic, and what is accepted asks something.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(`{"model":"parley","input":"x"}`))
	f.Add([]byte(`{"model":"a/b","conversation":{"id":"c"},"input":[{"type":"function_call","call_id":"c",` +
		`"name":"n"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text"}]}],` +
		`"tools":[{"type":"function"}],"tool_choice":{"type":"function","name":"n"},` +
		`"text":{"format":{"type":"json_schema"}}}`))
	f.Add([]byte(`{"items":[{"role":"user","content":[{"type":"input_image","image_url":"data:x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, _, _ = decodeConversation(bytes.Clone(body))
		r, err := decodeResponse(body)
		if err != nil {
			return
		}
		if len(r.said) == 0 || r.said[len(r.said)-1].Role == "assistant" {
			t.Fatalf("nothing is asked in %s", body)
		}
		settings, _, err := r.settings(&parley.Agent{}, "")
		if err != nil {
			return
		}
		note := r.noted(&parley.Agent{}, settings.SystemPrompt)
		c := &history.Request{History: history.History{Said: r.said}}
		outputs(c)
		if _, err := note.encode(r.Metadata); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	})
}
