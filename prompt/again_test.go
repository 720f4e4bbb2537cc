package prompt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/prompt"
)

// A turn that resumes another begins at the message of both: rows settled by the other count as its own, and its broken
// answers stay left out for good, since later turns begin with what this one showed.
func TestWindowOfATurnTakenUpAgain(t *testing.T) {
	t.Parallel()
	r := plain(2) // rows 1 to 4
	trigger := r.add(user(turnID(3), "now"))
	trigger.ID = parley.NewID()
	triggerID := trigger.ID
	r.add(call(turnID(3), 1, "a", `{}`))
	r.add(result(turnID(3), 1, "a", `"1"`))
	r.add(assistant(turnID(3), 2, parley.AssistantContent{Text: "brok"})).Status = parley.MessageFailed
	r.add(assistant(turnID(4), 1,
		parley.AssistantContent{Text: "interrup"})).Status = parley.MessageCancelled // row 9: the first retry
	r.add(user(parley.ID{}, "a note"))
	retry := parley.Turn{ID: turnID(5), TriggerMessageID: triggerID, ContinuesID: turnID(4)}
	r.add(call(turnID(5), 1, "b", `{}`))
	r.add(result(turnID(5), 1, "b", `"2"`))
	const own = "running turn; left out: asked for again, failed"
	for _, test := range []struct {
		policy parley.Policy
		ranges []parley.ManifestRange
	}{
		{parley.Policy{Kind: parley.PolicyAll},
			[]parley.ManifestRange{{From: 1, To: 4, Reason: "all"},
				{From: 5, To: 12, Except: []int64{8, 9}, Reason: own}}},
		{parley.Policy{Kind: parley.PolicySingle},
			[]parley.ManifestRange{{From: 5, To: 12, Except: []int64{8, 9}, Reason: own}}},
		{parley.Policy{Kind: parley.PolicyRecent, Limit: 2},
			[]parley.ManifestRange{{From: 3, To: 4, Reason: "recent(2)"},
				{From: 5, To: 12, Except: []int64{8, 9}, Reason: own}}},
	} {
		selection := mustWindow(t, test.policy, r.session(12), retry, r.tail(12))
		if diff := cmp.Diff(
			parley.Manifest{Policy: test.policy.String(), Ranges: test.ranges},
			selection.Manifest,
			equateEmpty(),
		); diff != "" {
			t.Errorf("manifest (-want +got):\n%s", diff)
		}
		sent, manifest := mustBuild(t, prompt.Settings{Model: modelA}, selection)
		again, err := prompt.Rebuild(parley.Call{Model: modelA, Manifest: manifest}, nil, "", tools(), r.rows, noFiles)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, again); diff != "" {
			t.Errorf("rebuilt request differs (-sent +rebuilt):\n%s", diff)
		}
	}
	r.add(user(turnID(6), "and then"))
	later := mustWindow(t, parley.Policy{Kind: parley.PolicyAll}, r.session(13), parley.Turn{ID: turnID(6)}, r.tail(13))
	if prompt.Includes(later.Manifest, 9) || prompt.Includes(later.Manifest, 8) {
		t.Errorf(
			"a later turn sees %+v; want neither the answer that was given again nor the failed one",
			later.Manifest.Ranges,
		)
	}
}
