package prompt_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// A recorded call rebuilds to the request that was sent, whatever marks have changed since, from only the record and
// the call.
func TestRebuildGivesTheSameRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 8).Draw(t, "turns"), []parley.ModelID{modelA, modelB})
		for i := range r.rows {
			r.rows[i].Marks.SetAside = rapid.IntRange(1, 10).Draw(t, "aside") == 1
		}
		at := rapid.SampledFrom(begins).Draw(t, "step")
		running := parley.Turn{ID: r.rows[at-1].TurnID}
		settings := prompt.Settings{Model: rapid.SampledFrom([]parley.ModelID{modelA, modelB}).Draw(t, "request model"),
			System: "Be brief.", Think: true, Policy: drawPolicy(t)}
		selection := mustWindow(t, settings.Policy, r.session(at), running, r.tail(at))

		var steers []parley.Message
		kept := slices.Clone(r.rows[:at])
		for n := rapid.IntRange(0, 2).Draw(t, "steers"); n > 0; n-- {
			steer := user(running.ID, "and also")
			steer.Sequence = int64(len(kept) + 1)
			steer.Status = parley.MessageQueued
			steers = append(steers, steer)
			steer.Status = parley.MessageCompleted
			kept = append(kept, steer)
		}
		sent, manifest := mustBuild(t, settings, selection, steers...)

		kept = append(kept, r.rows[at:]...) // and later rows, with their own sequences
		for i := at + len(steers); i < len(kept); i++ {
			kept[i].Sequence = int64(i + 1)
		}
		for i := range kept {
			kept[i].Marks.SetAside = rapid.Bool().Draw(t, "marked later")
		}
		definitions, err := prompt.DecodeTools(mustTools(t, tools()).Text())
		if err != nil {
			t.Fatal(err)
		}
		call := parley.Call{Model: settings.Model, Think: true, Manifest: manifest}
		again, err := prompt.Rebuild(call, nil, settings.System, definitions, kept, noFiles)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, again); diff != "" {
			t.Fatalf("rebuilt request differs (-sent +rebuilt):\n%s", diff)
		}
		if n := manifestBytes(t, manifest); n > parley.MaxManifestBytes {
			t.Fatalf("manifest of %d bytes", n)
		}
	})
}

// The manifest names exactly the messages of the selection.
func TestManifestNamesShownMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 8).Draw(t, "turns"), []parley.ModelID{modelA})
		for i := range r.rows {
			r.rows[i].Marks.SetAside = rapid.IntRange(1, 6).Draw(t, "aside") == 1
		}
		at := rapid.SampledFrom(begins).Draw(t, "step")
		selection := mustWindow(t, drawPolicy(t), r.session(at), parley.Turn{ID: r.rows[at-1].TurnID}, r.tail(at))
		if diff := cmp.Diff(sequences(selection.Messages), named(selection.Manifest, at), equateEmpty()); diff != "" {
			t.Fatalf("manifest %+v (-shown +named):\n%s", selection.Manifest, diff)
		}
	})
}

// Under policy all, an earlier request's messages begin every later one's.
func TestAllKeepsPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 6).Draw(t, "turns"), []parley.ModelID{modelA})
		settings := prompt.Settings{Model: modelA, Policy: parley.Policy{Kind: parley.PolicyAll}}
		var before []model.Message
		for _, at := range begins {
			selection := mustWindow(t, settings.Policy, r.session(at), parley.Turn{ID: r.rows[at-1].TurnID}, r.tail(at))
			request, _ := mustBuild(t, settings, selection)
			if len(request.Messages) < len(before) {
				t.Fatalf("the request at %d is shorter than the previous one", at)
			}
			if diff := cmp.Diff(before, request.Messages[:len(before)], equateEmpty()); diff != "" {
				t.Fatalf("prefix broken at %d (-before +now):\n%s", at, diff)
			}
			before = request.Messages
		}
	})
}

// In any window every tool call is followed by exactly one result, and every result has its call.
func TestCallsAndResultsStayPaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 8).Draw(t, "turns"), []parley.ModelID{modelA, modelB})
		for i := range r.rows {
			r.rows[i].Marks.SetAside = rapid.IntRange(1, 8).Draw(t, "aside") == 1
			r.rows[i].Marks.ContextEdge = rapid.IntRange(1, 30).Draw(t, "edge") == 1
		}
		at := rapid.SampledFrom(begins).Draw(t, "step")
		settings := prompt.Settings{Model: modelA, Policy: drawPolicy(t)}
		request, _ := mustBuild(
			t,
			settings,
			mustWindow(t, settings.Policy, r.session(at), parley.Turn{ID: r.rows[at-1].TurnID}, r.tail(at)),
		)
		var open []string
		for i, m := range request.Messages {
			if m.Role != model.RoleTool && len(open) > 0 {
				t.Fatalf("message %d follows calls %v without their results", i, open)
			}
			if len(m.Parts) == 0 {
				t.Fatalf("message %d is empty", i)
			}
			var answered []string
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartToolCall:
					open = append(open, p.CallID)
				case model.PartToolResult:
					answered = append(answered, p.CallID)
				}
			}
			if m.Role == model.RoleTool {
				if !slices.Equal(open, answered) {
					t.Fatalf("message %d answers %v, open are %v", i, answered, open)
				}
				open = nil
			}
		}
		if len(open) > 0 {
			t.Fatalf("calls %v at the end have no results", open)
		}
	})
}

func requestDiff(a, b model.Request) string { return cmp.Diff(a, b) }
