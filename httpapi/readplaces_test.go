package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/inflight"
)

// So many reads of a principal run at once. The next one waits for the first of them to end, or for its client to go;
// nobody else waits, and streams do not either.
func TestReadsOfOnePrincipalWaitForEachOther(t *testing.T) {
	t.Parallel()
	begun, ends := make(chan struct{}), make(chan struct{})
	s := startServer(t, func(options *Options) {
		options.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-ends
		})
	})
	many, other := s.key("team", "many", parley.RoleAdmin), s.key("team", "other", parley.RoleMember)
	ended := make(chan int, readsOfOne+1)
	read := func(path string) {
		ended <- s.do("GET", path, "", "Authorization", many).status
	}
	for range readsOfOne {
		go read("/metrics") // ends with ends
		bounded.Receive(t, begun, "a read to begin")
	}
	ctx, gone := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { // ends with its context
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/principal", nil)
		if err == nil {
			request.Header.Set("Authorization", many)
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				err = response.Body.Close()
			}
		}
		waiting <- err
	}()
	want[whoAmI](s, 200, "GET", "/v1/principal", "", "Authorization", other)
	feed := s.stream("GET", "/v1/events", "", "Authorization", many)
	feed.until("resync")
	select {
	case err := <-waiting:
		t.Errorf("a read beyond them ended: %v", err)
	default:
	}
	gone()
	if err := bounded.Receive(t, waiting, "the client that is gone"); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that went away: %v", err)
	}
	go read("/v1/principal") // ends with a place
	close(ends)
	for range readsOfOne + 1 {
		if status := bounded.Receive(t, ended, "a read to end"); status != 200 {
			t.Errorf("a read is answered with %d", status)
		}
	}
}

// Every request of a principal takes a place unless there is a reason why many of them may run.
func TestWhichRequestsWaitForEachOther(t *testing.T) {
	t.Parallel()
	a := &api{reads: inflight.NewPlaces(readsOfOne), changes: inflight.NewPlaces(changesOfOne),
		writes: inflight.NewPlaces(1)}
	for name, want := range map[string]*inflight.Places{
		"getMessage": a.reads, "listVersions": a.reads, "listMessages": a.reads, "search": a.reads,
		"markMessage": a.changes, "appendMessage": a.changes, "settleMessage": a.changes, "forkSession": a.changes,
		"updateSession": a.changes, "importSessions": a.changes, "updateKnowledgeItem": a.changes,
		"createKnowledgeItem": a.writes, "createAgent": a.writes, "updateAgent": a.writes, "archiveAgent": a.writes,
		"postMessage": nil, "createSession": nil, "uploadFile": nil, "getFileContent": nil, "exportSession": nil,
		"watchSession": nil, "getHealth": nil,
	} {
		all := routes()
		at := slices.IndexFunc(all, func(r route) bool { return r.name == name })
		if at < 0 {
			t.Errorf("there is no route %s", name)
			continue
		}
		request := httptest.NewRequestWithContext(t.Context(), all[at].method, "/", nil)
		if got := a.placesOf(&all[at], &exchange{r: request}); got != want {
			t.Errorf("%s takes a place among the reads %t, the changes %t", name, got == a.reads, got == a.changes)
		}
		if name == "forkSession" { // it has a stream; others have none, whatever is asked for
			want = nil
		}
		request.Header.Set("Accept", eventStream)
		if got := a.placesOf(&all[at], &exchange{r: request}); got != want {
			t.Errorf("as a stream %s takes a place among the reads %t, the changes %t", name, got == a.reads,
				got == a.changes)
		}
	}
}
