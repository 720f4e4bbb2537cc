package e2e

import (
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestDocumentsSurviveKills: an agent writes a document and edits it, and whenever a kill -9 hits, each of its calls
// has written one version.
func TestDocumentsSurviveKills(t *testing.T) { onEach(t, documentsSurviveKills) }

func documentsSurviveKills(t *testing.T, at place) {
	every := 4 // the server is killed after so many events, twice as many, and so on until the turn is faster
	if testing.Short() {
		every = 6
	}
	for after := 1; ; after += every {
		s := startAt(t, at, "--lease", shortLease.String())
		session, err := s.client.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{
			Model: "sim/document",
			Tools: &[]parley.ToolRef{
				{Name: "list_artifacts"}, {Name: "read_artifact"}, {Name: "write_artifact"}, {Name: "edit_artifact"},
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		posted, err := s.client.Post(t.Context(), session.ID, client.UserMessage("Plan the move"))
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		for event, err := range s.client.WatchSession(t.Context(), session.ID,
			client.WatchSessionQuery{After: posted.EventSequence}) {
			if err != nil {
				t.Fatal(err)
			}
			if events++; events == after || event.Type == parley.EventSessionCompleted {
				break
			}
		}
		s.kill()
		again := startAt(t, at, "--lease", shortLease.String())
		if got := settled(t, again.client, session.ID, turnDeadline); got.Status != parley.SessionCompleted {
			t.Fatalf("killed after %d events: the session is %s", after, got.Status)
		}
		found, err := again.client.Artifacts(t.Context(), client.ArtifactsQuery{Session: session.ID})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Data) != 1 || found.Data[0].Version != 2 {
			t.Fatalf("killed after %d events: the documents are %+v", after, found.Data)
		}
		again.kill()
		if events < after {
			return
		}
	}
}
