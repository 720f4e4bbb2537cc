package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// TestAWorkspaceLeavesPlacesForOthers: a workspace gets at most half of the places that the others leave, so the next
// one still finds one.
func TestAWorkspaceLeavesPlacesForOthers(t *testing.T) {
	t.Parallel()
	r := newRoom("trials", 8, 3)
	var leaves []func()
	for workspace, want := range []int{4, 2, 1, 1} {
		id, taken := parley.NewID(), 0
		for principals := 4; principals > 0; principals-- {
			principal := parley.Principal{WorkspaceID: id, ID: parley.NewID()}
			for {
				leave, err := r.enter(principal)
				if err != nil {
					if parley.ErrorCode(err) != parley.CodeRateLimited {
						t.Fatal(err)
					}
					break
				}
				leaves = append(leaves, leave)
				taken++
			}
		}
		if taken != want {
			t.Errorf("workspace %d takes %d places; want %d", workspace, taken, want)
		}
	}
	for _, leave := range leaves {
		leave()
	}
	if r.all != 0 || len(r.of) != 0 || len(r.in) != 0 {
		t.Errorf("%d places of %d principals in %d workspaces are left", r.all, len(r.of), len(r.in))
	}
}

// slow is a store whose searches take until somebody ends them.
type slow struct{ Store }

func (slow) Search(ctx context.Context, _ store.Scope, _ store.SearchQuery) (store.SearchPage, error) {
	<-ctx.Done()
	return store.SearchPage{}, ctx.Err()
}

// TestASearchTakesItsTime: a search ends when its time is up, and a principal may run only so many at once.
func TestASearchTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Store: slow{}})
		ada := parley.Principal{WorkspaceID: parley.NewID(), ID: parley.NewID()}
		began, ended := time.Now(), make(chan error, searchesPerPrincipal)
		for range searchesPerPrincipal {
			go func() { // ends with its time
				_, err := e.search(t.Context(), ada, store.Scope{}, store.SearchQuery{})
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := e.search(t.Context(), ada, store.Scope{}, store.SearchQuery{}); parley.ErrorCode(
			err,
		) != parley.CodeRateLimited {
			t.Errorf("one more search: %v; want %s", err, parley.CodeRateLimited)
		}
		for range searchesPerPrincipal {
			if err := <-ended; parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("a search without an end: %v; want %s", err, parley.CodeInvalid)
			}
		}
		if took := time.Since(began); took != store.SearchTime {
			t.Errorf("it took %s; want %s", took, store.SearchTime)
		}
	})
}

// TestWhatLooksReadCounts: a preview is refused if it reads more than a single one may, or if others leave no room; one
// that has ended makes room.
func TestWhatLooksReadCounts(t *testing.T) {
	t.Parallel()
	const room = readingsHold / 2 // of a workspace
	e := &Engine{readings: inflight.NewBytes(readingsHold, 0)}
	scope, others := store.Scope{WorkspaceID: parley.NewID()}, store.Scope{WorkspaceID: parley.NewID()}
	first, end := e.reads(t.Context(), scope)
	if err := countRead(first, readingFree+room); err != nil {
		t.Fatal(err)
	}
	if err := countRead(first, int(2*room*inflight.Scale())); parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("more than one may read: %v; want %s", err, parley.CodeTooLarge)
	}
	second, endSecond := e.reads(t.Context(), scope)
	if err := countRead(second, readingFree+1); parley.ErrorCode(err) != parley.CodeRateLimited {
		t.Errorf("beside another: %v; want %s", err, parley.CodeRateLimited)
	}
	if err := countRead(second, readingFree); err != nil {
		t.Errorf("a short one: %v", err)
	}
	elsewhere, endElsewhere := e.reads(t.Context(), others)
	if err := countRead(elsewhere, readingFree+room/2); err != nil {
		t.Errorf("of another workspace: %v", err)
	}
	end()
	if err := countRead(second, room/2); err != nil {
		t.Errorf("when the other has ended: %v", err)
	}
	endSecond()
	endElsewhere()
}
