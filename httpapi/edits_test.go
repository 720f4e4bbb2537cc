package httpapi

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// editsOf lists the edits that a request shows, oldest first.
func (s *testServer) editsOf(query string, headers ...string) []parley.Transform {
	s.Helper()
	return want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?kind=edit&order=asc"+query, "", headers...).Data
}

// TestWhatPeopleWriteIsATransform: every way to write a version by hand leaves one edit with what it read and wrote,
// which the lineage shows between the versions, and which is neither cancelled nor retried.
func TestWhatPeopleWriteIsATransform(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	project, dir := s.projectOf("edits")
	key := []string{"Idempotency-Key", "once"}
	post := func(at, body string) {
		t.Helper()
		first := want[parley.ArtifactVersion](s, 201, "POST", at, body, key...)
		if again := want[parley.ArtifactVersion](s, 201, "POST", at, body, key...); again != first {
			t.Errorf("the repeat is %+v; want %+v", again, first)
		}
		key[1] += "x"
	}
	create := `{"kind":"markdown","name":"Outline","content":"one\n\ntwo\n\nthree\n","project_id":"` +
		project.ID.String() + `"}`
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts", create, key...)
	want[parley.Artifact](s, 201, "POST", "/v1/artifacts", create, key...)
	at := "/v1/artifacts/" + made.ID.String()
	post(at+"/versions", `{"edits":[{"old":"two","new":"TWO"}]}`)                                        // 2
	post(at+"/versions", `{"base_version":1,"merge":true,"content":"ONE\n\ntwo\n\nthree\n"}`)            // 3
	post(at+"/versions/1/restore", ``)                                                                   // 4
	post(at+"/versions", `{"base_version":4,"content":"new"}`)                                           // 5
	want[Problem](s, 409, "POST", at+"/versions", `{"base_version":1,"content":"late"}`)                 // none
	want[Problem](s, 422, "POST", at+"/versions", `{"edits":[{"old":"does not occur","new":"at all"}]}`) // none
	s.write(filepath.Join(dir, "o.md"), "imported")
	imports := "/v1/projects/" + project.ID.String() + "/artifacts/import"
	want[parley.Artifact](s, 201, "POST", imports, `{"path":"o.md","artifact_id":"`+made.ID.String()+
		`","base_version":5}`) // 6
	imported := want[parley.Artifact](s, 201, "POST", imports, `{"path":"o.md"}`)

	edits := s.editsOf("&project=" + project.ID.String())
	var said []string
	for i := range edits {
		one := &edits[i]
		said = append(said, one.Name)
		if one.Kind != parley.TransformEdit || one.Status != parley.TransformCompleted || one.EndedAt == 0 ||
			one.StartedAt != one.EndedAt || one.OwnerID != made.OwnerID || one.CreatedByID != made.OwnerID ||
			one.ProjectID != project.ID || len(one.Outputs) != 1 || one.Progress == nil || *one.Progress != 1 {
			t.Errorf("edit %d: %+v", i+1, one)
		}
		if !one.SessionID.IsZero() || !one.AgentID.IsZero() || !one.TurnID.IsZero() || one.Instructions != "" ||
			one.Chunks != 0 {
			t.Errorf("edit %d has what only a generation has: %+v", i+1, one)
		}
	}
	if want := []string{"Create", "Edit", "Edit", "Restore", "Edit", "Import", "Import"}; !slices.Equal(said, want) {
		t.Fatalf("the edits are %q; want %q", said, want)
	}
	for i, read := range [][]int{nil, {1}, {2}, {3, 1}, {4}, {5}} {
		one, number := &edits[i], i+1
		var got []int
		for _, in := range one.Inputs {
			if in.ArtifactID != made.ID {
				t.Errorf("edit %d reads another document: %+v", number, in)
			}
			got = append(got, in.Version)
		}
		if out := one.Outputs[0]; !slices.Equal(got, read) || out.ArtifactID != made.ID || out.Version != number ||
			out.BaseVersion != number-1 || out.Creates != (number == 1) {
			t.Errorf("edit %d reads %v, writes %+v", number, got, out)
		}
		version := want[parley.ArtifactVersion](s, 200, "GET", at+"/versions/"+string(rune('0'+number)), "")
		if version.TransformID != one.ID || !version.SessionID.IsZero() || version.CreatedAt != one.CreatedAt {
			t.Errorf("version %d names the transform %s; want %s", number, version.TransformID, one.ID)
		}
	}
	if out := edits[6].Outputs[0]; out.ArtifactID != imported.ID || !out.Creates || len(edits[6].Inputs) != 0 {
		t.Errorf("the import of a new document: %+v", edits[6])
	}
	restore := edits[3]
	read := want[parley.Transform](s, 200, "GET", "/v1/transforms/"+restore.ID.String(), "")
	if read.Name != "Restore" || read.Kind != parley.TransformEdit {
		t.Errorf("the edit by its id: %+v", read)
	}
	for _, verb := range []string{"cancel", "retry"} {
		refused := want[Problem](s, 409, "POST", "/v1/transforms/"+restore.ID.String()+"/"+verb, "")
		if !strings.Contains(refused.Detail, "This is an edit") {
			t.Errorf("%s says %q", verb, refused.Detail)
		}
	}
	want[Problem](s, 422, "GET", "/v1/transforms?kind=other", "")

	by := "transform:" + restore.ID.String()
	version := func(n string) string { return "artifact:" + made.ID.String() + ":" + n }
	up := want[engine.Lineage](s, 200, "GET", at+"/lineage?version=4&depth=2", "")
	down := want[engine.Lineage](s, 200, "GET", at+"/lineage?version=1&direction=down&depth=2", "")
	for what, found := range map[string]engine.Lineage{"up": up, "down": down} {
		for _, edge := range []engine.LineageEdge{
			{From: version("3"), To: by, Kind: parley.LineageInput},
			{From: version("1"), To: by, Kind: parley.LineageInput},
			{From: by, To: version("4"), Kind: parley.LineageOutput},
			{From: version("1"), To: version("4"), Kind: parley.LineageRestored},
		} {
			if what == "down" && edge.From == version("3") {
				continue
			}
			if !slices.Contains(found.Edges, edge) {
				t.Errorf("%s: the edge %+v is missing", what, edge)
			}
		}
		i := slices.IndexFunc(found.Nodes, func(n engine.LineageNode) bool { return n.ID == by })
		if i < 0 || *found.Nodes[i].Name != "Restore" || found.Nodes[i].Author == nil ||
			found.Nodes[i].Author.ID != made.OwnerID {
			t.Errorf("%s, the edit is not named: %+v", what, found.Nodes)
		}
	}

	s.do("DELETE", at, "")
	want[Problem](s, 404, "GET", "/v1/transforms/"+restore.ID.String(), "")
	if left := s.editsOf(""); len(left) != 1 || left[0].ID != edits[6].ID {
		t.Errorf("after the document was deleted: %+v", left)
	}
}

// TestAgentsLeaveNoEdits: what an agent writes with its tools is a message's, not an edit.
func TestAgentsLeaveNoEdits(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/document",` + documentTools + `}`)
	s.told(session.ID.String(), `{"content":{"text":"Plan the move"}}`)
	all := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts?session="+session.ID.String(), "").Data
	if len(all) != 1 || all[0].Version != 2 || len(s.editsOf("")) != 0 {
		t.Errorf("the agent wrote %+v and left the edits %+v", all, s.editsOf(""))
	}
	at := "/v1/artifacts/" + all[0].ID.String()
	version := want[parley.ArtifactVersion](s, 201, "POST", at+"/versions", `{"base_version":2,"content":"by hand"}`)
	if edits := s.editsOf(""); len(edits) != 1 || edits[0].ID != version.TransformID {
		t.Errorf("in the agent's document a person left the edits %+v", edits)
	}
}

// TestEditsAreSeenWithTheirDocument: who sees a document sees what people did to it, and nobody else does.
func TestEditsAreSeenWithTheirDocument(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	member := []string{"Authorization", s.key("default", "member", parley.RoleMember)}
	other := []string{"Authorization", s.key("default", "other", parley.RoleMember)}
	secret := s.made(`{"kind":"text","name":"Secret","content":"x"}`, member...)
	edits := s.editsOf("", member...)
	if len(edits) != 1 || edits[0].CreatedByID != secret.OwnerID || len(s.editsOf("", other...)) != 0 {
		t.Fatalf("its owner sees %+v, another member %+v", edits, s.editsOf("", other...))
	}
	at := "/v1/transforms/" + edits[0].ID.String()
	for _, one := range []string{"", "/cancel", "/retry"} {
		method := "POST"
		if one == "" {
			method = "GET"
		}
		want[Problem](s, 404, method, at+one, "", other...)
	}
	want[parley.Artifact](s, 200, "PATCH", "/v1/artifacts/"+secret.ID.String(), `{"visibility":"workspace"}`, member...)
	want[parley.Transform](s, 200, "GET", at, "", other...)
	version := want[parley.ArtifactVersion](s, 201, "POST", "/v1/artifacts/"+secret.ID.String()+"/versions",
		`{"base_version":1,"content":"y"}`, other...)
	if theirs := s.editsOf("", member...); len(theirs) != 2 || theirs[1].ID != version.TransformID ||
		theirs[1].OwnerID != secret.OwnerID || theirs[1].CreatedByID == secret.OwnerID {
		t.Errorf("the owner sees what another member wrote as %+v", theirs)
	}
}
