package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// made creates an artifact.
func (s *testServer) made(body string, headers ...string) parley.Artifact {
	s.Helper()
	return want[parley.Artifact](s, 201, "POST", "/v1/artifacts", body, headers...)
}

// transformed runs a transform to its end.
func (s *testServer) transformed(body string, headers ...string) parley.Transform {
	s.Helper()
	begun := want[parley.Transform](s, 201, "POST", "/v1/transforms", body, headers...)
	return s.transformEnd(begun, headers...)
}

func (s *testServer) transformEnd(begun parley.Transform, headers ...string) parley.Transform {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+begun.SessionID.String()+"/events", "", headers...)
	defer func() { _ = watch.body.Close() }()
	for {
		now := want[parley.Transform](s, 200, "GET", "/v1/transforms/"+begun.ID.String(), "", headers...)
		if now.Status.Finished() {
			return now
		}
		if _, err := watch.next(); err != nil {
			s.Fatal(err)
		}
	}
}

// TestATransformWritesADocument: the model is shown the inputs with their labels, its text becomes a new artifact, and
// the version names the transform, the session and the answer.
func TestATransformWritesADocument(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	outline := s.made(`{"kind":"json","name":"Outline","content":{"chapters":["Rain","Sun ` + "```" + `"]}}`)
	body := `{"name":"Digest","instructions":"Sum up.","inputs":[{"name":"plan","artifact_id":"` + outline.ID.String() +
		`","pointer":"/chapters"}],"outputs":[{"kind":"markdown","title":"Summary"}]}`
	begun := want[parley.Transform](s, 201, "POST", "/v1/transforms", body, "Idempotency-Key", "k")
	if again := want[parley.Transform](s, 201, "POST", "/v1/transforms", body, "Idempotency-Key",
		"k"); again.ID != begun.ID {
		t.Errorf("the repeat gives transform %s, not %s", again.ID, begun.ID)
	}
	ended := s.transformEnd(begun)
	if ended.Status != parley.TransformCompleted || parley.ValueOf(ended.Progress) != 1 || ended.Chunks == 0 ||
		ended.LastChunkAt == 0 || ended.Outputs[0].Version != 1 {
		t.Fatalf("ended: %+v", ended)
	}
	at := "/v1/artifacts/" + ended.Outputs[0].ArtifactID.String()
	if summary := want[parley.Artifact](s, 200, "GET", at, ""); summary.Name != "Summary" ||
		summary.Kind != parley.ArtifactMarkdown || summary.OwnerID != ended.OwnerID ||
		summary.Visibility != parley.VisibilityPrivate {
		t.Errorf("the artifact: %+v", summary)
	}
	content := string(s.do("GET", at+"/content", "").body) // an echo of what the model was shown
	for _, part := range []string{
		"Sum up.", `Input 1: "plan" (json), artifact ` + outline.ID.String() + `, version 1, pointer /chapters`,
		"````json\n[\"Rain\",\"Sun ```\"]\n````",
	} {
		if !strings.Contains(content, part) {
			t.Errorf("the model was not shown %q in:\n%s", part, content)
		}
	}
	version := want[parley.ArtifactVersion](s, 200, "GET", at+"/versions/1", "")
	record := s.recordOf("/v1/sessions/" + ended.SessionID.String())
	if version.TransformID != ended.ID || version.SessionID != ended.SessionID || version.Conflict ||
		version.Author.Kind != parley.AuthorAgent || version.MessageID != record[len(record)-1].ID {
		t.Errorf("the version: %+v", version)
	}
	if sessions := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?kind=tool", "").Data; len(sessions) != 1 ||
		sessions[0].Title != "Digest" {
		t.Errorf("the tool sessions: %+v", sessions)
	}
	if calls := want[page[parley.Call]](s, 200, "GET", "/v1/sessions/"+ended.SessionID.String()+"/calls",
		"").Data; len(calls) != 1 {
		t.Errorf("its calls: %+v", calls)
	}
}

// TestATransformWritesByASchema: several outputs are an object that their schemas describe; references inside a schema
// still lead into it.
func TestATransformWritesByASchema(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	plan := s.made(`{"kind":"json","name":"Plan","schema":{"type":"object","properties":{"steps":{"type":"array",` +
		`"minItems":1,"items":{"$ref":"#/$defs/step"}}},"required":["steps"],"$defs":{"step":{"type":"string",` +
		`"enum":["walk","rest"]}}},"content":{"steps":["walk"]}}`)
	ended := s.transformed(`{"name":"Both","instructions":"Write.","cite":true,"inputs":[{"artifact_id":"` +
		plan.ID.String() + `"}],"outputs":[{"name":"plan","artifact_id":"` + plan.ID.String() +
		`"},{"name":"notes","kind":"text"}]}`)
	if ended.Status != parley.TransformCompleted || ended.Outputs[0].Version != 2 || ended.Outputs[1].Version != 1 {
		t.Fatalf("ended: %+v", ended)
	}
	content := s.do("GET", "/v1/artifacts/"+plan.ID.String()+"/content", "").body
	var written struct{ Steps []string }
	if err := json.Unmarshal(content, &written); err != nil || len(written.Steps) == 0 || written.Steps[0] != "walk" {
		t.Errorf("the plan is %s, %v", content, err)
	}
	if sources := ended.Outputs[0].Sources; sources == nil {
		t.Errorf("sources are null")
	}
}

// TestATransformKeepsWhatOthersWrote: an artifact that has moved on gets a version that is not the current one, and can
// be made so by restoring it.
func TestATransformKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	notes := s.made(`{"kind":"text","name":"Notes","content":"old"}`)
	at := "/v1/artifacts/" + notes.ID.String()
	begun := want[parley.Transform](s, 201, "POST", "/v1/transforms",
		`{"name":"Again","instructions":"Write.","model":"sim/lorem-30-100","outputs":[{"artifact_id":"`+
			notes.ID.String()+`"}]}`)
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions", `{"base_version":1,"content":"by hand"}`)
	ended := s.transformEnd(begun)
	if out := ended.Outputs[0]; ended.Status != parley.TransformCompleted || out.Version != 3 || !out.Conflict {
		t.Fatalf("ended: %+v", ended)
	}
	if a := want[parley.Artifact](s, 200, "GET", at, ""); a.Version != 2 || a.Newest != 3 {
		t.Errorf("the artifact: %+v", a)
	}
	if got := string(s.do("GET", at+"/content", "").body); got != "by hand" {
		t.Errorf("the content is %q", got)
	}
	if v := want[parley.ArtifactVersion](s, 200, "GET", at+"/versions/3", ""); !v.Conflict || v.Parent != 1 {
		t.Errorf("the version: %+v", v)
	}
	restored := want[parley.ArtifactVersion](s, 201, "POST", at+"/versions/3/restore", "")
	if a := want[parley.Artifact](s, 200, "GET", at, ""); restored.Number != 4 || a.Version != 4 ||
		!strings.Contains(string(s.do("GET", at+"/content", "").body), "lorem") {
		t.Errorf("restored: %+v, %+v", restored, a)
	}
}

// TestATransformIsCancelledAndRetried: a cancelled one writes nothing, and its retry names it.
func TestATransformIsCancelledAndRetried(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	notes := s.made(`{"kind":"text","name":"Notes","content":"old"}`)
	begun := want[parley.Transform](s, 201, "POST", "/v1/transforms",
		`{"name":"Slow","instructions":"Write.","model":"sim/lorem-1000-100","outputs":[{"artifact_id":"`+
			notes.ID.String()+`"}]}`)
	at := "/v1/transforms/" + begun.ID.String()
	want[Problem](s, 409, "POST", at+"/retry", "")
	for range 2 {
		cancelled := want[parley.Transform](s, 200, "POST", at+"/cancel", "")
		if cancelled.Status != parley.TransformCancelled || cancelled.Outputs[0].Version != 0 {
			t.Errorf("cancelled: %+v", cancelled)
		}
	}
	again := want[parley.Transform](s, 201, "POST", at+"/retry", "", "Idempotency-Key", "k")
	if again.RetryOfID != begun.ID || again.ID == begun.ID || again.Outputs[0].ArtifactID != notes.ID {
		t.Errorf("the retry: %+v", again)
	}
	want[parley.Transform](s, 200, "POST", "/v1/transforms/"+again.ID.String()+"/cancel", "")
	failed := s.transformed(
		`{"name":"No","instructions":"Write.","model":"sim/fail-auth-9","outputs":[{"kind":"text"}]}`,
	)
	if failed.Status != parley.TransformFailed || failed.Failure == nil || failed.Failure.Class != parley.ClassAuth {
		t.Errorf("failed: %+v", failed)
	}
	want[Problem](s, 409, "POST", "/v1/transforms/"+failed.ID.String()+"/cancel", "")
	for query, n := range map[string]int{
		"?kind=generation": 3, "?kind=edit": 1, "": 4, "?status=failed": 1, "?status=cancelled": 2, "?limit=1": 1,
	} {
		if list := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms"+query, "").Data; len(list) != n {
			t.Errorf("%q lists %d transforms; want %d", query, len(list), n)
		}
	}
}

// TestTransformsRefuse: what cannot be run is refused, and nothing is opened.
func TestTransformsRefuse(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	notes := s.made(`{"kind":"text","name":"Notes","content":"old"}`)
	gone := s.made(`{"kind":"text","name":"Archived","content":"old"}`)
	want[parley.Artifact](s, 200, "PATCH", "/v1/artifacts/"+gone.ID.String(), `{"archived":true}`)
	in := func(more string) string {
		return `"name":"n","instructions":"i","outputs":[{"kind":"text"}],"inputs":[{"artifact_id":"` +
			notes.ID.String() + `"` + more + `}]`
	}
	for body, status := range map[string]int{
		`{"instructions":"i","outputs":[{"kind":"text"}]}`:                                              422,
		`{"name":"n","outputs":[{"kind":"text"}]}`:                                                      422,
		`{"name":"n","instructions":"i"}`:                                                               422,
		`{"name":"n","instructions":"i","outputs":[{}]}`:                                                422,
		`{"name":"n","instructions":"i","outputs":[{"kind":"text"},{"kind":"text"}]}`:                   422,
		`{"name":"n","instructions":"i","outputs":[{"kind":"text","schema":{}}]}`:                       422,
		`{"name":"n","instructions":"i","outputs":[{"artifact_id":"` + gone.ID.String() + `"}]}`:        409,
		`{"name":"n","instructions":"i","outputs":[{"artifact_id":"` + parley.NewID().String() + `"}]}`: 404,
		`{"name":"n","instructions":"i","model":"none/such","outputs":[{"kind":"text"}]}`:               422,
		`{"name":"n","instructions":"i","outputs":[{"kind":"text"}],"definition_version":1}`:            422,
		`{"definition":"none"}`:                                             404,
		`{` + in(`,"version":2`) + `}`:                                      422,
		`{` + in(`,"pointer":"/a"`) + `}`:                                   422,
		`{` + in(``) + `,"trigger_message_id":"` + notes.ID.String() + `"}`: 422,
		`{` + in(``) + `,"trigger_session_id":"` + notes.ID.String() + `"}`: 404,
	} {
		want[Problem](s, status, "POST", "/v1/transforms", body)
	}
	if list := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?kind=tool", "").Data; len(list) != 0 {
		t.Errorf("refused transforms opened %d sessions", len(list))
	}
	ran := want[engine.DryRun](s, 200, "POST", "/v1/transforms", `{`+in(``)+`,"dry_run":true}`)
	if len(ran.Messages) != 2 {
		t.Errorf("the dry run: %+v", ran)
	}
	if list := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?kind=generation", "").Data; len(list) != 0 {
		t.Errorf("a dry run left %d transforms", len(list))
	}
}

// TestTransformsSeeWhatTheirOwnerSees: inputs and outputs are what the caller sees by itself, the transform is seen
// like its session, and what the owner may no longer read at the end is not written about.
func TestTransformsSeeWhatTheirOwnerSees(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := []string{"Authorization", s.key("default", "admin", parley.RoleAdmin)}
	member := []string{"Authorization", s.key("default", "member", parley.RoleMember)}
	reader := []string{"Authorization", s.key("default", "reader", parley.RoleReader)}
	secret := s.made(`{"kind":"text","name":"Secret","content":"x"}`, admin...)
	shared := s.made(`{"kind":"text","name":"Shared","content":"x","visibility":"workspace"}`, admin...)
	body := func(a parley.Artifact, more string) string {
		return `{"name":"n","instructions":"i","inputs":[{"artifact_id":"` + a.ID.String() +
			`"}],"outputs":[{"kind":"text"}]` + more + `}`
	}
	want[Problem](s, 404, "POST", "/v1/transforms", body(secret, ""), member...)
	want[Problem](s, 403, "POST", "/v1/transforms", body(shared, ""), reader...)
	ended := s.transformed(body(shared, ""), member...)
	at := "/v1/transforms/" + ended.ID.String()
	if ended.Status != parley.TransformCompleted {
		t.Errorf("ended: %+v", ended)
	}
	want[parley.Transform](s, 200, "GET", at, "", admin...)
	want[Problem](s, 404, "GET", at, "", reader...)
	if open := s.transformed(body(shared, `,"visibility":"workspace"`), member...); open.ID.IsZero() {
		t.Errorf("%+v", open)
	}
	if list := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?kind=generation", "",
		reader...).Data; len(list) != 1 {
		t.Errorf("a reader sees %d transforms", len(list))
	}
	if list := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?kind=edit", "",
		reader...).Data; len(list) != 1 || list[0].Outputs[0].ArtifactID != shared.ID {
		t.Errorf("a reader sees edits of what it does not see: %+v", list)
	}

	slow := want[parley.Transform](s, 201, "POST", "/v1/transforms", body(shared, `,"model":"sim/lorem-30-100"`),
		member...)
	want[parley.Artifact](s, 200, "PATCH", "/v1/artifacts/"+shared.ID.String(), `{"visibility":"private"}`, admin...)
	if lost := s.transformEnd(slow, member...); lost.Status != parley.TransformFailed ||
		!strings.Contains(lost.Failure.Sentence, "no longer read") {
		t.Errorf("without its input: %+v", lost)
	}
	deleted := s.made(`{"kind":"text","name":"Deleted","content":"x"}`, member...)
	slow = want[parley.Transform](s, 201, "POST", "/v1/transforms", body(deleted, `,"model":"sim/lorem-30-100"`),
		member...)
	s.do("DELETE", "/v1/artifacts/"+deleted.ID.String(), "", member...)
	if ended := s.transformEnd(slow, member...); ended.Status != parley.TransformCompleted ||
		!ended.Inputs[0].Purged || ended.Outputs[0].Version != 1 {
		t.Errorf("with a deleted input: %+v", ended)
	}
}

// TestDefinitionsAreRun: a definition has versions, a run names the one that it had, and an archived one is not run.
func TestDefinitionsAreRun(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"Short summary","instructions":"Sum up.","model":"sim/echo","outputs":[{"kind":"text"}]}`)
	if made.Slug != "short-summary" || made.Version != 1 || made.Outputs[0].Title != "Short summary" {
		t.Errorf("made: %+v", made)
	}
	want[Problem](s, 409, "POST", "/v1/transforms/definitions",
		`{"name":"Short summary","instructions":"x","outputs":[{"kind":"text"}]}`)
	want[Problem](s, 422, "POST", "/v1/transforms/definitions", `{"name":"No","instructions":"x","outputs":[]}`)
	at := "/v1/transforms/definitions/short-summary"
	changed := want[parley.TransformDefinition](s, 200, "PATCH", at, `{"instructions":"Sum up briefly."}`)
	same := want[parley.TransformDefinition](s, 200, "PATCH", at, `{"instructions":"Sum up briefly."}`)
	if changed.Version != 2 || same.Version != 2 {
		t.Errorf("changed to versions %d and %d", changed.Version, same.Version)
	}
	if old := want[parley.TransformDefinition](s, 200, "GET", at+"?version=1", ""); old.Instructions != "Sum up." {
		t.Errorf("the first version: %+v", old)
	}
	if list := want[page[parley.TransformDefinition]](s, 200, "GET", at+"/versions", "").Data; len(list) != 2 {
		t.Errorf("%d versions", len(list))
	}
	notes := s.made(`{"kind":"text","name":"Notes","content":"old"}`)
	run := `{"definition":"short-summary","instructions":"In French.","outputs":[{"artifact_id":"` +
		notes.ID.String() + `"}]}`
	ended := s.transformed(run)
	if ended.DefinitionID != made.ID || ended.DefinitionVersion != 2 || ended.Outputs[0].Version != 2 ||
		ended.Instructions != "Sum up briefly.\n\nIn French." {
		t.Errorf("ended: %+v", ended)
	}
	if list := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?definition="+made.ID.String(),
		"").Data; len(list) != 1 {
		t.Errorf("%d runs", len(list))
	}
	want[parley.TransformDefinition](s, 200, "PATCH", at, `{"status":"archived"}`)
	want[Problem](s, 409, "POST", "/v1/transforms", run)
	for query, n := range map[string]int{"": 0, "?status=archived": 1, "?status=any": 1} {
		if list := want[page[parley.TransformDefinition]](s, 200, "GET", "/v1/transforms/definitions"+query,
			"").Data; len(list) != n {
			t.Errorf("%q lists %d definitions", query, len(list))
		}
	}
}
