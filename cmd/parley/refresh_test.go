package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
)

// TestARefreshOnTheCommandLine: the example's pipeline runs, and what a new version makes stale runs again when asked.
func TestARefreshOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, nil, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	say := func(args ...string) string {
		t.Helper()
		var said, complained bytes.Buffer
		if code := run(t.Context(), append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(""), out: &said, exact: &said, err: &complained}); code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complained.String())
		}
		return said.String()
	}
	var ran parley.PipelineRun
	if err := json.Unmarshal([]byte(say("pipelines", "example", "--json")), &ran); err != nil {
		t.Fatal(err)
	}
	ideas := ran.Nodes[0].Instances[0].Outputs[0].ArtifactID.String()
	summary := ran.Nodes[3].Instances[0].Outputs[0].ArtifactID.String()
	if got := say("artifacts", "refresh", summary); got != "Nothing is stale.\n" {
		t.Errorf("a refresh of what is new: %s", got)
	}
	say("artifacts", "restore", ideas, "1") // a newer version
	if got := say("artifacts", "refresh", summary); !strings.Contains(got, "\nchapters-3  outline") ||
		!strings.Contains(
			got,
			"\nsummary     chapters, chapters-2, chapters-3",
		) || !strings.Contains(got, "$0 at most") {
		t.Errorf("a refresh would run:\n%s", got)
	}
	if got := say("artifacts", "refresh", summary, "--yes"); !strings.HasPrefix(got, "Refresh of Summary: completed") {
		t.Errorf("the refresh:\n%s", got)
	}
	if got := say("pipelines", "list"); !strings.Contains(got, "5 of 5") && !strings.Contains(got, "4 of 4") {
		t.Errorf("the runs:\n%s", got)
	}
	if got := say("transforms", "list", "--kind", "generation"); strings.Count(got, "completed") != 11 {
		t.Errorf("the transforms:\n%s", got)
	}
}
