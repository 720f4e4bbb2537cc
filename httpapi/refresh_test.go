package httpapi

import (
	"fmt"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// documentOf returns a document as it is now.
func (s *testServer) documentOf(id parley.ID) parley.Artifact {
	s.Helper()
	return want[parley.Artifact](s, 200, "GET", "/v1/artifacts/"+id.String(), "")
}

// chain makes a document by hand, and two others by transforms, the second from the first.
func (s *testServer) chain() (brief, outline, summary parley.ID) {
	s.Helper()
	brief = s.made(`{"kind":"text","name":"Brief","content":"Frost."}`).ID
	run := s.awaitRun(s.startRun(fmt.Sprintf(
		`{"name":"n","documents":[{"name":"brief","artifact_id":%q}],"nodes":[%s,%s]}`, brief,
		textNode("outline", "sim/echo", `{"document":"brief"}`),
		textNode("summary", "sim/echo", `{"node":"outline"},{"document":"brief"}`))))
	if run.Status != parley.PipelineCompleted {
		s.Fatalf("the run ended as %+v", run)
	}
	return brief, run.Nodes[0].Instances[0].Outputs[0].ArtifactID, run.Nodes[1].Instances[0].Outputs[0].ArtifactID
}

// writtenByHand writes a version by hand.
func (s *testServer) writtenByHand(id parley.ID, base int, content string) {
	s.Helper()
	want[parley.ArtifactVersion](s, 201, "POST", "/v1/artifacts/"+id.String()+"/versions",
		fmt.Sprintf(`{"base_version":%d,"content":%q}`, base, content))
}

// refusesRefresh: nothing is stale.
func (s *testServer) refusesRefresh(at string) {
	s.Helper()
	if refused := s.do("POST", at, `{}`); refused.status != 409 {
		s.Errorf("a refresh of nothing: %d %s", refused.status, refused.body)
	}
}

// TestARefreshRunsWhatIsStaleInOrder: what lies behind a document runs again, and what is new then does not.
func TestARefreshRunsWhatIsStaleInOrder(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	brief, outline, summary := s.chain()
	at := "/v1/artifacts/" + summary.String() + "/refresh"
	if shown := want[engine.Refresh](s, 200, "GET", at, ""); len(shown.Nodes) != 0 || shown.Tokens != 0 {
		t.Errorf("nothing is stale, and %+v would run", shown)
	}
	s.refusesRefresh(at)

	s.writtenByHand(brief, 1, "Frost, and thaw.")
	shown := want[engine.Refresh](s, 200, "GET", at, "")
	if len(shown.Nodes) != 2 || shown.Nodes[0].Name != "outline" || shown.Nodes[1].Name != "summary" ||
		len(shown.Nodes[1].After) != 1 || shown.Nodes[1].After[0] != "outline" ||
		shown.Nodes[0].Writes[0] != (parley.ArtifactRef{ArtifactID: outline, Version: 1}) {
		t.Fatalf("would run %+v", shown.Nodes)
	}
	first := &shown.Nodes[0]
	if first.Tokens == 0 || first.Cost.Input == nil || shown.Tokens != first.Tokens+shown.Nodes[1].Tokens ||
		shown.Output == nil {
		t.Errorf("the cost is %+v", shown)
	}
	started := want[parley.PipelineRun](s, 201, "POST", at, `{}`, "Idempotency-Key", "once")
	if run := s.awaitRun(started.ID.String()); run.Status != parley.PipelineCompleted || len(run.Nodes) != 2 {
		t.Fatalf("the run ended as %+v", run)
	}
	for _, id := range []parley.ID{outline, summary} {
		if a := s.documentOf(id); a.Version != 2 || a.Newest != 2 {
			t.Errorf("%s is at %d of %d", a.Name, a.Version, a.Newest)
		}
	}
	again := want[parley.PipelineRun](s, 201, "POST", at, `{}`, "Idempotency-Key", "once")
	if again.ID != started.ID {
		t.Errorf("a repeat started %s beside %s", again.ID, started.ID)
	}
	s.refusesRefresh(at)
}

// TestARewrittenDocumentIsNotStale: what a transform has read and written itself is no newer input of it.
func TestARewrittenDocumentIsNotStale(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	notes := s.made(`{"kind":"text","name":"Notes","content":"Frost."}`).ID
	ended := s.transformed(fmt.Sprintf(`{"name":"Polish","instructions":"Polish.","parameters":{"max_tokens":900},`+
		`"inputs":[{"artifact_id":%q}],"outputs":[{"name":"notes","artifact_id":%[1]q},{"name":"more","kind":"text"}]}`,
		notes))
	if a := s.documentOf(notes); a.Version != 2 || parley.ValueOf(ended.MaxTokens) != 900 {
		t.Fatalf("it is at %d after %+v", a.Version, ended)
	}
	for i := range ended.Outputs {
		at := "/v1/artifacts/" + ended.Outputs[i].ArtifactID.String() + "/refresh"
		if shown := want[engine.Refresh](s, 200, "GET", at, ""); len(shown.Nodes) != 0 {
			t.Errorf("would run %+v", shown.Nodes)
		}
		s.refusesRefresh(at)
	}
	if stale := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts?stale=true", "").Data; len(stale) != 0 {
		t.Errorf("stale is %+v", stale)
	}
}

// TestARefreshLeavesWhatPeopleWrote: a version by hand is not replaced, what was made from it runs on it, and a
// document that moves on meanwhile keeps its version.
func TestARefreshLeavesWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	brief, outline, summary := s.chain()
	s.writtenByHand(brief, 1, "Frost, and thaw.")
	s.writtenByHand(outline, 1, "My own outline.")
	at := "/v1/artifacts/" + summary.String() + "/refresh"
	shown := want[engine.Refresh](s, 200, "GET", at, "")
	if len(shown.Nodes) != 1 || shown.Nodes[0].Name != "summary" || len(shown.Nodes[0].After) != 0 {
		t.Fatalf("would run %+v", shown.Nodes)
	}
	run := s.awaitRun(want[parley.PipelineRun](s, 201, "POST", at, `{}`).ID.String())
	if a := s.documentOf(outline); run.Status != parley.PipelineCompleted || a.Version != 2 {
		t.Errorf("the outline is at %d after %+v", a.Version, run)
	}
	read := want[parley.Transform](s, 200, "GET", "/v1/transforms/"+run.Nodes[0].Instances[0].TransformID.String(), "")
	if len(read.Inputs) != 2 || read.Inputs[0].Version != 2 || read.Inputs[1].Version != 2 {
		t.Errorf("it read %+v", read.Inputs)
	}
	s.writtenByHand(summary, 2, "My own summary.") // nothing of it can run again
	if shown := want[engine.Refresh](s, 200, "GET", at, ""); len(shown.Nodes) != 0 {
		t.Errorf("would run %+v", shown.Nodes)
	}
}
