package builtin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/tool"
)

// slow is a tool that answers when it is told to.
type slow struct {
	fixed
	begun, ends chan struct{}
}

func (t slow) Call(context.Context, tool.Call) (tool.Result, error) {
	t.begun <- struct{}{}
	<-t.ends
	return tool.Result{}, nil
}

// Few calls that read the record run at once, fewer of them for one workspace, and one that waits ends with its turn.
func TestCallsThatReadTheRecordWaitForEachOther(t *testing.T) {
	t.Parallel()
	for _, found := range Record(newLibrary(t).store).Tools() {
		if _, waits := found.(placed); !waits {
			t.Errorf("%s does not wait", found.Definition().Name)
		}
	}
	waits := placed{slow{begun: make(chan struct{}), ends: make(chan struct{})}, newRecallPlaces()}
	of := waits.Tool.(slow)
	ended := make(chan error, recallsInAll+2)
	call := func(ctx context.Context, workspaceID parley.ID) {
		_, err := waits.Call(ctx, tool.Call{WorkspaceID: workspaceID})
		ended <- err
	}
	refused := func(workspaceID parley.ID, what string) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		go call(ctx, workspaceID) // ends with its context
		stop()
		if err := bounded.Receive(t, ended, what); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range recallsInAll / recallsOfWorkspace {
		workspaceID := parley.NewID()
		for range recallsOfWorkspace {
			go call(t.Context(), workspaceID) // ends with ends
			bounded.Receive(t, of.begun, "a call to begin")
		}
		refused(workspaceID, "one more of a workspace")
	}
	refused(parley.NewID(), "one more of another workspace")
	close(of.ends)
	for range recallsInAll {
		if err := bounded.Receive(t, ended, "a call to end"); err != nil {
			t.Error(err)
		}
	}
}

// A search finds what a regular expression would, and ends with its turn.
func TestSearchesFindWhatExpressionsFind(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aAbBkK\u212asS\u017fßẞéÉ\n")
	word := func(n int) string {
		var out strings.Builder
		for range n {
			out.WriteRune(letters[random.IntN(len(letters))])
		}
		return out.String()
	}
	for range 5000 {
		text, wanted := word(random.IntN(60)), word(1+random.IntN(3))
		var want []stretch
		for _, at := range regexp.MustCompile("(?i)"+regexp.QuoteMeta(wanted)).FindAllStringIndex(text, 4) {
			want = append(want, stretch{at[0], at[1]})
		}
		if got, err := findFolded(
			t.Context(),
			text,
			wanted,
			4,
			nil,
		); err != nil ||
			fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: %v, %v, want %v", wanted, text, got, err, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	text := strings.Repeat("a", 4*findStride)
	if found, err := findFolded(ctx, text, "ab", 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a search whose turn has ended: %v, %v", found, err)
	}
}

// The time of a search follows the text's length: nothing that is looked for has it read again and again.
func TestSearchesAreLinear(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 16<<20)
	ended := make(chan int, 1)
	go func() { // ends with the search
		found, _ := findFolded(t.Context(), text, strings.Repeat("a", maxWantedBytes-1)+"b", 1, nil)
		ended <- len(found)
	}()
	if n := bounded.Receive(t, ended, "a search of 16 MiB"); n != 0 {
		t.Errorf("found %d", n)
	}
}
