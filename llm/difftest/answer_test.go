package difftest_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/llm/llmtest"
	"example.org/parley/model"
)

// answer is what both sides can report of a stream.
type answer struct {
	Text, Reasoning, Refusal string
	Signatures               []string // of thinking blocks, or the data of redacted ones
	Calls                    []call
	Finish                   parley.FinishReason // "" when it failed
	Usage                    usage
	Failed                   bool
}

type call struct{ ID, Name, Arguments string }

// usage has 0 for unknown values, as the SDKs do.
type usage struct{ Input, Output, Cached, Written, Reasoning int64 }

// serve returns the base URL of a server that answers with a stream, cut into pieces regardless of frames.
func serve(t *testing.T, wire []byte) string {
	t.Helper()
	server := httptest.NewServer(llmtest.Serve(wire, func() int { return 37 }))
	t.Cleanup(server.Close)
	return server.URL
}

// ours folds the adapter's answer.
func ours(t *testing.T, format llmtest.Format, model model.Model) (answer, llmtest.Fold) {
	t.Helper()
	encoded, err := model.Encode(llmtest.Request(format))
	if err != nil {
		t.Fatal(err)
	}
	fold, err := llmtest.Collect(model.Stream(t.Context(), encoded))
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Finish: fold.Finish, Failed: fold.Error != nil}
	for _, b := range fold.Blocks {
		switch b.Kind {
		case "text":
			a.Text += b.Text
		case "reasoning":
			a.Reasoning += b.Text
		case "refusal":
			a.Refusal += b.Text
		case "tool_call":
			a.Calls = append(a.Calls, call{b.CallID, b.Name, b.Text})
		}
	}
	known := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	u := fold.Usage
	a.Usage = usage{
		known(u.InputTokens),
		known(u.OutputTokens),
		known(u.CachedTokens),
		known(u.CacheWriteTokens),
		known(u.ReasoningTokens),
	}
	return a, fold
}

// compare runs every recording through both sides.
func compare(
	t *testing.T,
	format llmtest.Format,
	differs map[string]string,
	both func(t *testing.T, baseURL string) (ours, theirs answer),
) {
	seen := map[string]bool{}
	for _, stream := range llmtest.Streams(format) {
		t.Run(stream.Name, func(t *testing.T) {
			seen[stream.Name] = true
			mine, theirs := both(t, serve(t, stream.Wire))
			if mine.Failed && theirs.Failed { // the usage before a failure does not matter
				mine.Usage, theirs.Usage = usage{}, usage{}
			}
			diff := cmp.Diff(theirs, mine)
			reason, expected := differs[stream.Name]
			switch {
			case diff != "" && !expected:
				t.Errorf("the SDK and Parley read this differently (-SDK +Parley)\n%s", diff)
			case diff == "" && expected:
				t.Errorf("listed as different (%s), but it is not", reason)
			case diff != "":
				t.Logf("differs on purpose: %s\n%s", reason, diff)
			}
		})
	}
	for name := range differs {
		if !seen[name] {
			t.Errorf("%q is listed as different, but there is no such recording", name)
		}
	}
}

// patience is the adapters' deadline in these tests: no recording stalls.
const patience = 30 * time.Second
