package main

import (
	"bytes"
	"strings"
	"testing"
)

// The response cache is shown and cleared from the command line.
func TestCacheOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, nil, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, args := range [][]string{{"cache", "show"}, {"cache", "show", "--json"}, {"cache", "clear"}} {
		var out, complained bytes.Buffer
		if code := run(
			t.Context(),
			append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(""), out: &out, err: &complained},
		); code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complained.String())
		}
		if args[1] == "show" && !strings.Contains(strings.ToLower(out.String()), "evicted") {
			t.Errorf("parley %s: %s", strings.Join(args, " "), out.String())
		}
	}
}
