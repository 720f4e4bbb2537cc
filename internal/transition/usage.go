package transition

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
)

// ReadExpected parses the JSON of a parley.Expected; unreadable, nothing is expected.
func ReadExpected(text string) (expected parley.Expected) {
	if text == "" || json.Unmarshal([]byte(text), &expected) != nil {
		return parley.Expected{}
	}
	return expected
}

// ReadUsage parses the JSON of a parley.Usage. It parses the exact form that Parley writes by hand, since a list has
// hundreds. Unreadable usage is unknown.
func ReadUsage(text string) *parley.Usage {
	if text == "" {
		return nil
	}
	usage := &parley.Usage{}
	rest := text
	for i, field := range [...]struct {
		name string
		to   **int64
	}{
		{`{"input_tokens":`, &usage.InputTokens}, {`,"output_tokens":`, &usage.OutputTokens},
		{`,"cached_tokens":`, &usage.CachedTokens},
		{`,"cache_write_tokens":`, &usage.CacheWriteTokens}, {`,"reasoning_tokens":`, &usage.ReasoningTokens},
	} {
		after, ok := strings.CutPrefix(rest, field.name)
		end := strings.IndexAny(after, ",}")
		if !ok || end < 0 {
			break
		}
		if value := after[:end]; value != "null" {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				break
			}
			*field.to = &n
		}
		if rest = after[end:]; i == 4 && rest == "}" {
			return usage
		}
	}
	*usage = parley.Usage{}
	if json.Unmarshal([]byte(text), usage) != nil {
		return nil
	}
	return usage
}
