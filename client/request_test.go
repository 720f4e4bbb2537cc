package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// What may have had its effect is sent again only where that does no more; what the server refused to begin is sent
// again in any case. One call of an operation with a key has one key.
func TestRequestsAreRepeatedWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	const all = 1 + client.DefaultRetries
	id := parley.NewID()
	for name, test := range map[string]struct {
		status, sent int
		call         func(*client.Client) error
	}{
		"a read": {http.StatusServiceUnavailable, all, func(c *client.Client) error {
			_, err := c.Session(t.Context(), id)
			return err
		}},
		"a read that is asked once": {http.StatusServiceUnavailable, 1, func(c *client.Client) error {
			_, err := c.Session(t.Context(), id, client.Once())
			return err
		}},
		"a read that is refused": {http.StatusForbidden, 1, func(c *client.Client) error {
			_, err := c.Session(t.Context(), id)
			return err
		}},
		"a post with a key": {http.StatusBadGateway, all, func(c *client.Client) error {
			_, err := c.PostMessage(t.Context(), id, client.UserMessage("hello"))
			return err
		}},
		"a change without one": {http.StatusServiceUnavailable, 1, func(c *client.Client) error {
			_, err := c.UpdateSession(t.Context(), id, client.SessionPatch{})
			return err
		}},
		"a change that was refused for now": {http.StatusTooManyRequests, all, func(c *client.Client) error {
			_, err := c.UpdateSession(t.Context(), id, client.SessionPatch{})
			return err
		}},
		"an upload": {http.StatusServiceUnavailable, 1, func(c *client.Client) error {
			_, err := c.UploadFile(t.Context(), strings.NewReader("bytes"), client.UploadFileQuery{Name: "a"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			var key atomic.Pointer[string]
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				given := r.Header.Get("Idempotency-Key")
				if first := key.Swap(&given); first != nil && *first != given {
					t.Errorf("sent with the key %q after %q", given, *first)
				}
				if test.status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "1")
				}
				w.WriteHeader(test.status)
				fmt.Fprintf(w, `{"code":"unavailable","detail":"not now"}`)
			})
			if err := test.call(c); parley.ErrorCode(err) != parley.CodeUnavailable || err.Error() != "not now" {
				t.Errorf("ended with %v", err)
			}
			if int(sent.Load()) != test.sent {
				t.Errorf("sent %d times, want %d", sent.Load(), test.sent)
			}
		})
	}
}

// What was deleted by an attempt whose answer was lost is not missed.
func TestADeletionThatWasLostIsNoError(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if sent.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"not_found","detail":"The session does not exist."}`)
	})
	if err := c.DeleteSession(t.Context(), parley.NewID()); err != nil {
		t.Error(err)
	}
	if err := c.DeleteSession(t.Context(), parley.NewID()); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Errorf("deleting what does not exist: %v", err)
	}
}

// The server's word of how long to wait reaches the caller; a wait that is too long is left to it.
func TestLongWaitsAreTheCallers(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"code":"rate_limited","detail":"too many"}`)
	})
	_, err := c.Principal(t.Context())
	var known *parley.Error
	if !errors.As(err, &known) || known.Code != parley.CodeRateLimited || known.RetryAfter != time.Minute ||
		sent.Load() != 1 {
		t.Errorf("sent %d times, got %#v", sent.Load(), err)
	}
}

// A list is read page by page from its cursor, and an error ends it.
func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.RawQuery; query {
		case "cursor=two&limit=1&status=failed":
			_, _ = io.WriteString(w, `{"data":[{"title":"b"}],"next":"three"}`)
		case "cursor=three&limit=1&status=failed":
			_, _ = io.WriteString(w, `{"data":[{"title":"c"}],"next":null}`)
		case "cursor=broken":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"code":"invalid","detail":"cursor: is not one"}`)
		default:
			t.Errorf("asked for %s", query)
		}
	})
	titles := ""
	for session, err := range c.AllSessions(
		t.Context(),
		client.SessionsQuery{Limit: 1, Cursor: "two", Status: []parley.SessionStatus{parley.SessionFailed}},
	) {
		if err != nil {
			t.Fatal(err)
		}
		titles += session.Title
	}
	if titles != "bc" {
		t.Errorf("read %q", titles)
	}
	rows := 0
	for _, err := range c.AllSessions(t.Context(), client.SessionsQuery{Cursor: "broken"}) {
		if rows++; parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("got %v", err)
		}
	}
	if rows != 1 {
		t.Errorf("an error came %d times", rows)
	}
}

// All hits of a search are read like the rows of any list.
func TestHitsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.RawQuery; query {
		case "q=needle":
			_, _ = io.WriteString(w, `{"data":[{"session":{"title":"a"}}],"next":"two","complete":false}`)
		case "cursor=two&q=needle":
			_, _ = io.WriteString(w, `{"data":[{"session":{"title":"b"}}],"next":null,"complete":true}`)
		default:
			t.Errorf("asked for %s", query)
		}
	})
	titles := ""
	for hit, err := range c.AllHits(t.Context(), client.SearchQuery{Q: "needle"}) {
		if err != nil {
			t.Fatal(err)
		}
		titles += hit.Session.Title
	}
	if titles != "ab" {
		t.Errorf("read %q", titles)
	}
}
