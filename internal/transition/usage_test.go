package transition

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
)

func TestReadUsage(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	for name, want := range map[string]*parley.Usage{
		"":                                     nil,
		`{"x`:                                  nil,
		`null`:                                 {},
		`{}`:                                   {},
		`{"output_tokens":2,"input_tokens":1}`: {InputTokens: &one, OutputTokens: &two},
		`{"input_tokens":1,"output_tokens":2,"cached_tokens":null,"cache_write_tokens":null,` +
			`"reasoning_tokens":2}`: {InputTokens: &one, OutputTokens: &two, ReasoningTokens: &two},
		`{"input_tokens":1.5,"output_tokens":2,"cached_tokens":null,"cache_write_tokens":null,` +
			`"reasoning_tokens":2}`: nil,
		`{"input_tokens":null,"output_tokens":null,"cached_tokens":null,"cache_write_tokens":null,` +
			`"reasoning_tokens":null,"x":1}`: {},
	} {
		if diff := cmp.Diff(want, ReadUsage(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
