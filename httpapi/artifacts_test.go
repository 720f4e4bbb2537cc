package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestArtifactsThroughTheAPI: an artifact is written, read, compared, restored, renamed, archived and deleted.
func TestArtifactsThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const body = `{"kind":"markdown","name":"Outline","labels":["novel"," novel "],"content":"# One\n\nIt begins.\n"}`
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", body, "Idempotency-Key", "k")
	if again := want[parley.Artifact](
		s,
		201,
		"POST",
		"/v1/artifacts",
		body,
		"Idempotency-Key",
		"k",
	); again.ID != made.ID {
		t.Errorf("the repeat gives artifact %s", again.ID)
	}
	if made.Version != 1 || made.Bytes != 18 || len(made.Labels) != 1 || made.Visibility != parley.VisibilityPrivate {
		t.Errorf("created: %+v", made)
	}
	path := "/v1/artifacts/" + made.ID.String()
	const edit = `{"edits":[{"old":"It begins.","new":"It began."}]}`
	second := want[parley.ArtifactVersion](s, 201, "POST", path+"/versions", edit, "Idempotency-Key", "e")
	if again := want[parley.ArtifactVersion](
		s, 201, "POST", path+"/versions", edit, "Idempotency-Key", "e"); again.Number != second.Number {
		t.Errorf("the repeat gives version %d", again.Number)
	}
	if second.Number != 2 || second.Parent != 1 || second.Base != 1 || second.Author.Kind == parley.AuthorAgent {
		t.Errorf("the second version: %+v", second)
	}
	if got := s.do("GET", path+"/content", ""); string(got.body) != "# One\n\nIt began.\n" ||
		got.header.Get("Content-Type") != "text/plain; charset=utf-8" || got.header.Get("ETag") != `"2"` {
		t.Errorf("the content: %q, %v", got.body, got.header)
	}
	if got := s.do(
		"GET",
		path+"/content?version=1",
		"",
		"Range",
		"bytes=2-4",
	); got.status != 206 ||
		string(got.body) != "One" {
		t.Errorf("a range of version 1: %d %q", got.status, got.body)
	}
	if got := s.do("GET", path+"/content", "", "If-None-Match", `"2"`); got.status != http.StatusNotModified {
		t.Errorf("a content that is known: %d", got.status)
	}
	diff := want[engine.ArtifactDiff](s, 200, "GET", path+"/diff", "")
	if diff.From != 1 || diff.To != 2 || len(diff.Hunks) != 1 || diff.Patch != nil {
		t.Errorf("the difference: %+v", diff)
	}
	restored := want[parley.ArtifactVersion](s, 201, "POST", path+"/versions/1/restore", "")
	if restored.Number != 3 || restored.RestoredFrom != 1 || restored.ContentHash != made.ContentHash {
		t.Errorf("restored: %+v", restored)
	}
	if got := want[parley.ArtifactVersion](s, 200, "GET", path+"/versions/3", ""); got != restored {
		t.Errorf("version 3: %+v", got)
	}
	if list := want[page[parley.ArtifactVersion]](s, 200, "GET", path+"/versions?limit=2", ""); len(list.Data) != 2 ||
		list.Next == nil || len(want[page[parley.ArtifactVersion]](
		s, 200, "GET", path+"/versions?limit=2&cursor="+*list.Next, "").Data) != 1 {
		t.Errorf("the versions: %+v", list)
	}
	if got := want[parley.Artifact](s, 200, "PATCH", path, `{"name":"Draft","archived":true}`); got.Name != "Draft" ||
		got.ArchivedAt == 0 {
		t.Errorf("archived: %+v", got)
	}
	want[Problem](s, 409, "POST", path+"/versions", `{"edits":[{"old":"One","new":"Two"}]}`)
	if list := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts", ""); len(list.Data) != 0 {
		t.Errorf("the list shows %d archived ones", len(list.Data))
	}
	if list := want[page[parley.Artifact]](
		s, 200, "GET", "/v1/artifacts?archived=any&kind=markdown&label=novel&name=dRAF", ""); len(list.Data) != 1 {
		t.Errorf("the list of all has %d", len(list.Data))
	}
	want[parley.Artifact](s, 200, "PATCH", path, `{"archived":false}`)
	if got := s.do("DELETE", path, ""); got.status != http.StatusNoContent {
		t.Fatalf("deleting: %d", got.status)
	}
	for _, gone := range []string{"", "/versions", "/versions/1", "/content", "/diff"} {
		want[Problem](s, 404, "GET", path+gone, "")
	}
}

// TestStaleVersionsAreRefusedOrMerged: a change of an older version is refused with both numbers, or joined with what
// others have written where it does not touch the same places.
func TestStaleVersionsAreRefusedOrMerged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, first, theirs, ours, touching, merged string }{
		{
			"text", `"one\ntwo\nthree\nfour\n"`, `{"edits":[{"old":"one","new":"1"}]}`,
			`"edits":[{"old":"four","new":"4"}]`, `"content":"uno\ntwo\nthree\nfour\n"`, "1\ntwo\nthree\n4\n",
		},
		{
			"json", `{"a": 1, "b": [1, 2], "c": "x"}`, `{"patch":[{"op":"replace","path":"/a","value":2}]}`,
			`"patch":[{"op":"add","path":"/b/-","value":3}]`, `"content":{"a":3,"b":[1,2],"c":"x"}`,
			`{"a":2,"b":[1,2,3],"c":"x"}`,
		},
	} {
		s := startServer(t)
		made := want[parley.Artifact](
			s, 201, "POST", "/v1/artifacts", `{"kind":"`+c.kind+`","name":"n","content":`+c.first+`}`)
		path := "/v1/artifacts/" + made.ID.String()
		want[parley.ArtifactVersion](s, 201, "POST", path+"/versions", c.theirs)
		stale := want[Problem](s, 409, "POST", path+"/versions", `{`+c.ours+`}`, "If-Match", `"1"`)
		if stale.Versions == nil || *stale.Versions != (parley.Stale{Base: 1, Newest: 2}) || stale.State == nil {
			t.Errorf("%s: the refusal says %+v", c.kind, stale)
		}
		touching := want[Problem](
			s, 409, "POST", path+"/versions", `{"base_version":1,"merge":true,`+c.touching+`}`)
		if touching.Versions == nil || !strings.Contains(touching.Detail, "same places") {
			t.Errorf("%s: changes that touch: %+v", c.kind, touching)
		}
		version := want[parley.ArtifactVersion](
			s, 201, "POST", path+"/versions", `{"merge":true,`+c.ours+`}`, "If-Match", `"1"`)
		if version.Number != 3 || version.Base != 1 || version.Parent != 2 || !version.Merged() {
			t.Errorf("%s: merged: %+v", c.kind, version)
		}
		if got := s.do("GET", path+"/content", ""); string(got.body) != c.merged {
			t.Errorf("%s: the merged content is %q", c.kind, got.body)
		}
	}
}

// TestMergedVersionsSatisfyTheirSchema: two changes that fit by themselves and not together are refused, and operations
// of every kind are merged by what they change.
func TestMergedVersionsSatisfyTheirSchema(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"json","name":"n","content":{"a":1,"list":[1,2,3]},"schema":{"type":"object","maxProperties":3}}`)
	at := "/v1/artifacts/" + made.ID.String()
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions", `{"patch":[{"op":"add","path":"/b","value":1}]}`)
	const mine = `{"base_version":1,"merge":true,"patch":[`
	refused := want[Problem](s, 422, "POST", at+"/versions", mine+`{"op":"add","path":"/c","value":1}]}`)
	if !strings.Contains(refused.Detail, "schema") {
		t.Errorf("the refusal says %q", refused.Detail)
	}
	for _, change := range []string{
		`{"op":"test","path":"/b","value":1}`, // it is not in version 1, which the change began with
		`{"op":"test","path":"/a","value":2},{"op":"replace","path":"/a","value":3}`,
		`{"op":"move","from":"/none","path":"/a"}`,
	} {
		want[Problem](s, 422, "POST", at+"/versions", mine+change+`]}`)
	}
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions",
		mine+`{"op":"test","path":"/a","value":1},{"op":"move","from":"/list/0","path":"/list/2"},`+
			`{"op":"copy","from":"/a","path":"/list/-"}]}`)
	if got := s.do("GET", at+"/content", ""); string(got.body) != `{"a":1,"list":[2,3,1,1],"b":1}` {
		t.Errorf("merged: %s", got.body)
	}
	want[Problem](s, 409, "POST", at+"/versions", mine+`{"op":"remove","path":"/list"}]}`)
}

// TestAnyTwoVersionsAreCompared: forwards, backwards, and of what does not exist.
func TestAnyTwoVersionsAreCompared(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", `{"kind":"json","name":"n","content":{"n":1}}`)
	at := "/v1/artifacts/" + made.ID.String()
	for _, n := range []string{"2", "3"} {
		want[parley.ArtifactVersion](s, 201, "POST", at+"/versions",
			`{"patch":[{"op":"replace","path":"/n","value":`+n+`}]}`)
	}
	for query, value := range map[string]string{
		"from=1&to=3": "3", "from=3&to=1": "1", "to=2": "2", "from=1": "3", "": "3",
	} {
		diff := want[engine.ArtifactDiff](s, 200, "GET", at+"/diff?"+query, "")
		if len(diff.Patch) != 1 || string(diff.Patch[0].Value) != value {
			t.Errorf("?%s: %+v", query, diff)
		}
	}
	if diff := want[engine.ArtifactDiff](s, 200, "GET", at+"/diff?from=2&to=2", ""); len(diff.Patch) != 0 {
		t.Errorf("a version and itself: %+v", diff)
	}
	want[Problem](s, 404, "GET", at+"/diff?from=1&to=4", "")
}

// TestArtifactsRefuse: what a version or an artifact may not be is refused, and nothing is written.
func TestArtifactsRefuse(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, body := range []string{
		`{"kind":"poem","name":"n","content":"x"}`,
		`{"kind":"text","name":" ","content":"x"}`,
		`{"kind":"text","name":"n"}`,
		`{"kind":"text","name":"n","content":{}}`,
		`{"kind":"text","name":"n","content":"x","schema":{}}`,
		`{"kind":"json","name":"n","content":"x","schema":{"type":"object"}}`,
		`{"kind":"json","name":"n","content":{},"schema":{"type":7}}`,
		`{"kind":"text","name":"n","content":"x","visibility":"world"}`,
		`{"kind":"text","name":"n","content":"x","labels":["` + strings.Repeat("l", 300) + `"]}`,
	} {
		want[Problem](s, 422, "POST", "/v1/artifacts", body)
	}
	want[Problem](s, 404, "POST", "/v1/artifacts",
		`{"kind":"text","name":"n","content":"x","session_id":"`+parley.NewID().String()+`"}`)
	want[Problem](s, 404, "POST", "/v1/projects/"+parley.NewID().String()+"/artifacts",
		`{"kind":"text","name":"n","content":"x"}`)
	want[Problem](s, 404, "GET", "/v1/projects/"+parley.NewID().String()+"/artifacts", "")
	if large := s.do("POST", "/v1/artifacts", `{"kind":"text","name":"n","content":"`+
		strings.Repeat("x", parley.MaxDocumentBytes+1)+`"}`); large.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a content that is too large: %d", large.status)
	}
	text := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", `{"kind":"text","name":"n","content":"x x"}`)
	object := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"json","name":"n","content":{"a":1},"schema":{"type":"object","required":["a"]}}`)
	for _, c := range []struct {
		id   parley.ID
		body string
	}{
		{text.ID, `{}`},
		{text.ID, `{"content":"y"}`},
		{text.ID, `{"content":"y","base_version":2}`},
		{text.ID, `{"content":"y","base_version":1,"edits":[]}`},
		{text.ID, `{"edits":[{"old":"x","new":"y"}]}`},
		{text.ID, `{"edits":[{"old":"z","new":"y"}]}`},
		{text.ID, `{"patch":[]}`},
		{object.ID, `{"edits":[]}`},
		{object.ID, `{"patch":[{"op":"remove","path":"/a"}]}`},
		{object.ID, `{"patch":[{"op":"remove","path":"/b"}]}`},
		{object.ID, `{"base_version":1,"content":[]}`},
	} {
		want[Problem](s, 422, "POST", "/v1/artifacts/"+c.id.String()+"/versions", c.body)
	}
	want[Problem](s, 422, "POST", "/v1/artifacts/"+text.ID.String()+"/versions",
		`{"content":"y","base_version":2}`, "If-Match", `"1"`) // either alone would be one of them
	want[Problem](s, 422, "POST", "/v1/artifacts/"+text.ID.String()+"/versions", `{"content":"y"}`, "If-Match", `"v"`)
	want[Problem](s, 422, "PATCH", "/v1/artifacts/"+text.ID.String(),
		`{"session_id":"`+parley.NewID().String()+`"}`)
	if got := want[parley.Artifact](s, 200, "GET", "/v1/artifacts/"+object.ID.String(), ""); got.Version != 1 {
		t.Errorf("after refusals the artifact has %d versions", got.Version)
	}
}

// TestArtifactsFollowTheirSession: in a session, who sees the session sees the artifact; a shared one is everybody's to
// write, and its owner's to delete.
func TestArtifactsFollowTheirSession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada, bob := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	reader := s.key("one", "eve", parley.RoleReader)
	session := want[parley.Session](s, 201, "POST", "/v1/sessions", `{}`, "Authorization", ada)
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"text","name":"n","content":"x","session_id":"`+session.ID.String()+`"}`, "Authorization", ada)
	path := "/v1/artifacts/" + made.ID.String()
	want[Problem](s, 404, "GET", path, "", "Authorization", bob)
	want[Problem](s, 404, "POST", path+"/versions", `{"edits":[{"old":"x","new":"y"}]}`, "Authorization", bob)
	want[parley.ArtifactVersion](
		s, 201, "POST", path+"/versions/1/restore", "", "Authorization", ada, "Idempotency-Key", "k")
	want[Problem](s, 404, "POST", path+"/versions/1/restore", "", "Authorization", bob, "Idempotency-Key", "k")
	want[Problem](s, 422, "PATCH", path, `{"visibility":"workspace"}`, "Authorization", ada)
	want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session.ID.String(), `{"visibility":"workspace"}`,
		"Authorization", ada)
	want[parley.ArtifactVersion](
		s, 201, "POST", path+"/versions", `{"edits":[{"old":"x","new":"y"}]}`, "Authorization", bob)
	want[Problem](s, 403, "POST", path+"/versions", `{"edits":[{"old":"y","new":"z"}]}`, "Authorization", reader)
	want[parley.Artifact](s, 200, "GET", path, "", "Authorization", reader)
	want[Problem](s, 403, "DELETE", path, "", "Authorization", bob)
	want[Problem](s, 403, "PATCH", path, `{"session_id":null}`, "Authorization", bob)
	kept := want[parley.Artifact](s, 200, "PATCH", path, `{"session_id":null}`, "Authorization", ada)
	if !kept.SessionID.IsZero() || kept.Visibility != parley.VisibilityWorkspace || kept.OwnerID != made.OwnerID {
		t.Errorf("taken out of its session: %+v", kept)
	}
	if got := s.do("DELETE", "/v1/sessions/"+session.ID.String(), "", "Authorization", ada); got.status != 204 {
		t.Fatalf("deleting the session: %d", got.status)
	}
	want[parley.Artifact](s, 200, "GET", path, "", "Authorization", bob)
}
