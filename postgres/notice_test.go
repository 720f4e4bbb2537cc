package postgres

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// TestNoticesRoundTrip: hints arrive unchanged, in notifications of a legal size, and long texts in consecutive
// parts.
func TestNoticesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			strings.Repeat("\x01", 3000), strings.Repeat("größe 🙂", 2000), strings.Repeat(`"\`, 5000), "",
		}))
		pack := packer{head: noticeHead{From: wireID(parley.NewID()), Ask: true}}
		pack.begin()
		var interests []store.Interest
		var commits []store.Commit
		pieces := map[parley.ID]store.StreamPiece{}
		for range rapid.IntRange(0, 300).Draw(t, "items") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				i := store.Interest{
					SessionID: parley.NewID(),
					PaceMS:    rapid.IntRange(0, 250).Draw(t, "pace"),
					Flush:     rapid.Bool().Draw(t, "flush"),
					Raw:       rapid.Bool().Draw(t, "raw"),
				}
				interests = append(interests, i)
				add(&pack, interestItem, interestNotice{Session: wireID(i.SessionID), Pace: i.PaceMS, Flush: i.Flush,
					Raw: i.Raw})
			case 1:
				p := store.StreamPiece{
					WorkspaceID: parley.NewID(),
					SessionID:   parley.NewID(),
					TurnID:      parley.NewID(),
					MessageID:   parley.NewID(),
					Epoch: rapid.Int64().
						Draw(t, "epoch"),
					After:  rapid.Int64().Draw(t, "after"),
					Kind:   parley.KindReasoning,
					Offset: rapid.IntRange(0, 1<<40).Draw(t, "offset"),
					Text:   texts.Draw(t, "text"),
				}
				pieces[p.MessageID] = p
				pack.addPiece(&p)
			default:
				c := store.Commit{
					WorkspaceID: parley.NewID(),
					SessionID:   parley.NewID(),
					Epoch:       3,
					LastEvent:   7,
					Cancel:      parley.NewID(),
					Remote:      true,
				}
				notice := commitNotice{Workspace: wireID(c.WorkspaceID), Session: wireID(c.SessionID)}
				notice.merge(&store.Commit{Epoch: 3, Events: []parley.Event{{Sequence: 7}}, Cancel: c.Cancel})
				data, err := json.Marshal(texts.Draw(t, "data"))
				if err != nil {
					t.Fatal(err)
				}
				feed := store.FeedEvent{
					WorkspaceID: c.WorkspaceID,
					SessionID:   c.SessionID,
					Type:        parley.FeedSessionStatusChanged,
					OwnerID:     parley.NewID(),
					Visibility:  parley.VisibilityPrivate,
					Data:        data,
				}
				notice.merge(&store.Commit{Feed: []store.FeedEvent{feed}})
				if c.FeedLost = len(data) > mostFeedBytes; !c.FeedLost {
					c.Feed = []store.FeedEvent{feed}
				}
				commits = append(commits, c)
				pack.addCommit(&notice)
			}
		}
		pack.end()

		var gotInterests []store.Interest
		var gotCommits []store.Commit
		got := map[parley.ID]store.StreamPiece{}
		asked := 0
		for _, text := range pack.texts {
			if len(text) > noticeBytes || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Fatalf("the server would refuse a notification of %d bytes", len(text))
			}
			said, err := readNotice(text)
			if err != nil {
				t.Fatal(err)
			}
			if said.Ask {
				asked++
			}
			gotInterests = append(gotInterests, said.hints.Interests...)
			gotCommits = append(gotCommits, said.commits...)
			for _, p := range said.hints.Pieces {
				before, ok := got[p.MessageID]
				if ok {
					if p.Offset != before.Offset+len(before.Text) {
						t.Fatalf("a part at %d follows one that ends at %d", p.Offset, before.Offset+len(before.Text))
					}
					p.Offset, p.Text = before.Offset, before.Text+p.Text
				}
				got[p.MessageID] = p
			}
		}
		if asked != 1 {
			t.Errorf("Ask arrived %d times", asked)
		}
		for i := range commits { // JSON may be spelled in more than one way
			for j := range commits[i].Feed {
				var compact json.RawMessage
				if i < len(gotCommits) && j < len(gotCommits[i].Feed) {
					compact = gotCommits[i].Feed[j].Data
				}
				if same(compact, commits[i].Feed[j].Data) {
					commits[i].Feed[j].Data = compact
				}
			}
		}
		if diff := cmp.Diff(
			interests,
			gotInterests,
		) + cmp.Diff(
			commits,
			gotCommits,
		) + cmp.Diff(
			pieces,
			got,
		); diff != "" {
			t.Errorf("(-said +heard):\n%s", diff)
		}
	})
}

// same reports whether two JSON strings are equal.
func same(a, b json.RawMessage) bool {
	var x, y string
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// TestClaimedSessionsAreNotReadyForOthers: a session claimed before its readiness was announced is not ready for
// others.
func TestClaimedSessionsAreNotReadyForOthers(t *testing.T) {
	var c commitNotice
	c.merge(&store.Commit{Ready: true, Events: []parley.Event{{Sequence: 1, Type: parley.EventMessageCreated}}})
	if !c.Ready {
		t.Fatal("it was not ready before")
	}
	c.merge(&store.Commit{Events: []parley.Event{{Sequence: 2, Type: parley.EventSessionStarted}}})
	if c.Ready || c.LastEvent != 2 {
		t.Errorf("%+v", c)
	}
}
