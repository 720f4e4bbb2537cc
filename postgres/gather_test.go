package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// TestHintsWaitAsLongAsTheyMay: urgent hints leave immediately, those that may become obsolete after a moment, the rest
// when enough have gathered.
func TestHintsWaitAsLongAsTheyMay(t *testing.T) {
	t.Parallel()
	watched, other := parley.NewID(), parley.NewID()
	events := []parley.Event{{Sequence: 1}}
	feed := func(kind parley.EventType) []store.FeedEvent {
		return []store.FeedEvent{{SessionID: other, Type: kind}}
	}
	for name, c := range map[string]struct {
		commits []store.Commit
		waits   time.Duration
	}{
		"events that nobody watches": {[]store.Commit{{SessionID: other, Events: events}}, lazyTime},
		"a status in lists": {[]store.Commit{{SessionID: other, Events: events,
			Feed: feed(parley.FeedSessionStatusChanged)}}, lazyTime},
		"who may see a session":     {[]store.Commit{{SessionID: other, Feed: feed(parley.FeedSessionUpdated)}}, 0},
		"a deletion":                {[]store.Commit{{SessionID: other, Feed: feed(parley.FeedSessionDeleted)}}, 0},
		"events that somebody sees": {[]store.Commit{{SessionID: watched, Events: events}}, 0},
		"a session that may run":    {[]store.Commit{{SessionID: other, Ready: true}}, mergeTime},
		"a cancel":                  {[]store.Commit{{SessionID: other, Ready: true, Cancel: parley.NewID()}}, 0},
		"the most urgent of several": {[]store.Commit{{SessionID: other, Events: events},
			{SessionID: other, Ready: true}, {SessionID: watched, Events: events}}, 0},
		"ready behind what may wait": {[]store.Commit{{SessionID: other, Events: events},
			{SessionID: other, Ready: true}}, mergeTime},
		"watched again, said anew": {[]store.Commit{{SessionID: watched, Events: events},
			{SessionID: watched, Events: events}}, 0},
		"what may wait behind  ready": {[]store.Commit{{SessionID: other, Ready: true},
			{SessionID: other, Events: events}}, mergeTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Relay{now: make(chan struct{}, 1), soon: make(chan struct{}, 1), later: make(chan struct{}, 1),
					commits: map[commitKey]*commitNotice{}, watched: map[parley.ID]time.Time{}}
				r.note([]store.Interest{{SessionID: watched}}, time.Now())
				for _, commit := range c.commits {
					r.Committed(commit)
				}
				began := time.Now()
				pause := time.NewTimer(0)
				defer pause.Stop()
				if !(&sender{relay: r}).gather(context.Background(), pause, nil) {
					t.Fatal("there is nothing to send")
				}
				if waited := time.Since(began); waited != c.waits {
					t.Errorf("told after %s, want %s", waited, c.waits)
				}
			})
		})
	}
}

// TestNewWatchersGetWaitingHints: a new watcher need not wait for lazy hints, and is forgotten when it stops reporting.
func TestNewWatchersGetWaitingHints(t *testing.T) {
	t.Parallel()
	r := &Relay{
		now:     make(chan struct{}, 1),
		later:   make(chan struct{}, 1),
		commits: map[commitKey]*commitNotice{},
		watched: map[parley.ID]time.Time{},
	}
	session, now := parley.NewID(), time.Now()
	r.note([]store.Interest{{SessionID: session}}, now)
	if len(r.now) != 0 {
		t.Error("nothing was told immediately")
	}
	r.expire(now.Add(silence + 1))
	if len(r.watched) != 0 {
		t.Error("a watcher that stopped reporting is still told first")
	}
	r.Committed(store.Commit{SessionID: session, Events: []parley.Event{{Sequence: 1}}})
	if len(r.now) != 0 || len(r.later) != 1 {
		t.Error("told immediately without a watcher")
	}
	r.note([]store.Interest{{SessionID: session}}, now)
	if len(r.now) != 1 {
		t.Error("a new watcher was not told")
	}
}
