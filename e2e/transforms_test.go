package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestTransformsSurviveKills: a transform by hand and one that an agent runs are killed with kill -9 at random instants
// while they stream. Each ends once, and writes one version; the agent's call has one result.
func TestTransformsSurviveKills(t *testing.T) { onEach(t, transformsSurviveKills) }

func transformsSurviveKills(t *testing.T, at place) {
	const kills = 2      // a turn that sees a third death may be suspected of it, and fails
	const maxEvents = 40 // before a kill
	runs := 4
	if testing.Short() {
		runs = 1
	}
	s := startAt(t, at, "--lease", shortLease.String())
	notes, err := s.client.CreateArtifact(t.Context(), client.ArtifactInput{
		Kind: parley.ArtifactText, Name: "Notes", Content: json.RawMessage(`"old"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.CreateTransformDefinition(t.Context(), client.DefinitionInput{
		Name: "Story", Instructions: "Tell it.", Model: "sim/lorem-150-10",
		Outputs: []client.DefinedOutputInput{{Kind: parley.ArtifactMarkdown}},
	}); err != nil {
		t.Fatal(err)
	}
	for n := range runs {
		byHand, err := s.client.RunTransform(t.Context(), client.RunTransformInput{
			Definition: "story", Outputs: []client.TransformWriteInput{{ArtifactID: notes.ID}},
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := s.client.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{
			Model: "sim/script", Tools: &[]parley.ToolRef{{Name: parley.RunTransformTool}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage(
			`[[{"tool_call":{"name":"run_transform","arguments":{"definition":"story"}}}],[{"text":"done"}]]`,
		)); err != nil {
			t.Fatal(err)
		}
		watched := []parley.ID{byHand.SessionID, session.ID}
		for kill := range kills {
			left := rand.IntN(maxEvents)
			for event, err := range s.client.WatchSession(t.Context(), watched[kill%len(watched)],
				client.WatchSessionQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				if left--; left < 0 || event.Type.EndsTurn() || event.Type == parley.EventSessionWaiting {
					break
				}
			}
			s.kill()
			s = startAt(t, at, "--lease", shortLease.String())
		}
		for _, id := range watched {
			if got := settled(t, s.client, id, turnDeadline); got.Status != parley.SessionCompleted {
				t.Fatalf("run %d: the session is %+v", n, got)
			}
		}
		ended, err := s.client.Transform(t.Context(), byHand.ID)
		if err != nil {
			t.Fatal(err)
		}
		if out := ended.Outputs[0]; ended.Status != parley.TransformCompleted || out.Version != n+2 || out.Conflict {
			t.Fatalf("run %d: the transform by hand is %+v", n, ended)
		}
		if now, err := s.client.Artifact(t.Context(), notes.ID); err != nil || now.Newest != n+2 {
			t.Fatalf("run %d: its document is %+v, %v", n, now, err)
		}
		endedOnce(t, s.client, byHand.SessionID)
		byAgent, err := s.client.Transforms(t.Context(), client.TransformsQuery{Session: session.ID})
		if err != nil {
			t.Fatal(err)
		}
		if len(byAgent.Data) != 1 || byAgent.Data[0].Status != parley.TransformCompleted {
			for i := range byAgent.Data {
				one := &byAgent.Data[i]
				t.Errorf(
					"run %d: the agent's transform %s for %s is %s (%+v)",
					n,
					one.ID,
					one.TriggerMessageID,
					one.Status,
					one.Failure,
				)
			}
			t.FailNow()
		}
		endedOnce(t, s.client, byAgent.Data[0].SessionID)
		endedOnce(t, s.client, session.ID)
		written, err := s.client.Artifacts(t.Context(), client.ArtifactsQuery{Session: session.ID})
		if err != nil {
			t.Fatal(err)
		}
		if len(written.Data) != 1 || written.Data[0].Newest != 1 ||
			written.Data[0].ID != byAgent.Data[0].Outputs[0].ArtifactID {
			t.Fatalf("run %d: the agent's documents are %+v", n, written.Data)
		}
		results := 0
		for m, err := range s.client.AllMessages(t.Context(), session.ID, client.MessagesQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Role == parley.RoleToolResult {
				results++
			}
		}
		if results != 1 {
			t.Fatalf("run %d: the agent's call has %d results", n, results)
		}
	}
	s.kill()
}

// endedOnce checks that the only turn of a session has ended once.
func endedOnce(t *testing.T, c *client.Client, session parley.ID) {
	t.Helper()
	now, err := c.Session(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	ends := 0
	for event, err := range c.WatchSession(t.Context(), session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type.EndsTurn() {
			ends++
		}
		if event.ID >= now.LastEvent {
			break
		}
	}
	if ends != 1 {
		t.Fatalf("session %s has ended %d times", session, ends)
	}
}
