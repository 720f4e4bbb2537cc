package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// awaitRun waits until a run has ended.
func (s *testServer) awaitRun(id string) parley.PipelineRun {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+id+"/events", "")
	defer func() { _ = watch.body.Close() }()
	for {
		run := want[parley.PipelineRun](s, 200, "GET", "/v1/pipeline-runs/"+id, "")
		if run.Status.Finished() {
			return run
		}
		if _, err := watch.next(); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *testServer) startRun(body string) string {
	s.Helper()
	return want[parley.PipelineRun](s, 201, "POST", "/v1/pipeline-runs", body).ID.String()
}

// textNode is a node that writes a text.
func textNode(name, model, inputs string) string {
	return fmt.Sprintf(`{"name":%q,"instructions":"Write.","model":%q,"inputs":[%s],"outputs":[{"kind":"text",`+
		`"schema":null,"title":"The %[1]s"}]}`, name, model, inputs)
}

func TestTheExamplePipelineWritesItsDocuments(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	started := want[parley.PipelineRun](s, 201, "POST", "/v1/pipeline-runs/example", "")
	run := s.awaitRun(started.ID.String())
	if run.Status != parley.PipelineCompleted {
		t.Fatalf("the run ended as %+v", run)
	}
	for i, count := range []int{1, 1, 3, 1} {
		n := &run.Nodes[i]
		if len(n.Instances) != count {
			t.Fatalf("%s ran %d times, want %d", n.Node.Name, len(n.Instances), count)
		}
		for at := range n.Instances {
			out := n.Instances[at].Outputs[0]
			a := want[parley.Artifact](s, 200, "GET", "/v1/artifacts/"+out.ArtifactID.String(), "")
			if a.Name != n.OutputTitle(0, at) || a.Version != 1 {
				t.Errorf("%s wrote %+v", n.Node.Name, a)
			}
		}
	}
	// the last one's request shows what it was made from
	summary := run.Nodes[3].Instances[0].TransformID.String()
	asked := string(s.do("GET", "/v1/sessions/"+summary+"/messages", "").body)
	for at := range 3 {
		if id := run.Nodes[2].Instances[at].Outputs[0].ArtifactID.String(); !strings.Contains(asked, id) {
			t.Errorf("the summary was not shown chapter %d, %s", at+1, id)
		}
	}
}

func TestAPipelineReadsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"json","name":"Plan","content":{"rooms":["hall","attic"],"none":[],"note":"x"}}`)
	given := `"documents":[{"name":"plan","artifact_id":"` + made.ID.String() + `"}],`
	for pointer, wants := range map[string]struct {
		status parley.PipelineStatus
		count  int
		why    string
	}{
		"/rooms": {parley.PipelineCompleted, 2, ""},
		"/none":  {parley.PipelineCompleted, 0, ""},
		"/note":  {parley.PipelineFailed, 0, "is not an array"},
		"/gone":  {parley.PipelineFailed, 0, "pointer"},
	} {
		run := s.awaitRun(s.startRun(`{"name":"n",` + given + `"nodes":[` +
			textNode("room", "sim/echo", `{"document":"plan","pointer":"`+pointer+`","each":true}`) + `,` +
			textNode("all", "sim/echo", `{"node":"room"}`) + `]}`))
		n := &run.Nodes[0]
		if run.Status != wants.status || len(n.Instances) != wants.count || !strings.Contains(n.Failure, wants.why) {
			t.Errorf("%s: %+v", pointer, run)
		}
		for at := range n.Instances {
			asked := string(s.do("GET", "/v1/sessions/"+n.Instances[at].TransformID.String()+"/messages", "").body)
			if room := []string{"hall", "attic"}[at]; !strings.Contains(asked, room) ||
				!strings.Contains(asked, fmt.Sprintf("pointer /rooms/%d", at)) {
				t.Errorf("room %d was shown %s", at, asked)
			}
		}
	}
	for body, why := range map[string]string{
		`{"name":"n","nodes":[` + textNode("a", "sim/echo", `{"node":"b"}`) + `,` +
			textNode("b", "sim/echo", `{"node":"a"}`) + `]}`: "the nodes form a cycle",
		`{"name":"n","nodes":[` + textNode("a", "sim/nobody", "") + `]}`:                  "sim/nobody",
		`{"name":"n","nodes":[` + textNode("a", "sim/echo", `{"document":"plan"}`) + `]}`: "is not given",
		`{"name":"n","parallel":17,"nodes":[` + textNode("a", "sim/echo", "") + `]}`:      "parallel",
		`{"name":"n","nodes":[{"name":"a","instructions":"x","outputs":[{"kind":"json",` +
			`"title":"t","schema":{"type":7}}]}]}`: "schema",
	} {
		got := s.do("POST", "/v1/pipeline-runs", body)
		if got.status != 422 || !strings.Contains(string(got.body), why) {
			t.Errorf("%s: status %d %s; want 422 that says %q", body, got.status, got.body, why)
		}
	}
}

func TestAPipelineResumesWhereItFailed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.startRun(`{"name":"n","nodes":[` + textNode("a", "sim/echo", "") + `,` +
		textNode("b", "sim/fail-auth-1", `{"node":"a"}`) + `,` + textNode("c", "sim/echo", `{"node":"b"}`) + `]}`)
	failed := s.awaitRun(id)
	if failed.Status != parley.PipelineFailed || failed.Nodes[1].Instances[0].Failure == "" ||
		failed.Nodes[2].Status != parley.PipelinePending {
		t.Fatalf("the run ended as %+v", failed)
	}
	want[parley.PipelineRun](s, 200, "POST", "/v1/pipeline-runs/"+id+"/retry", "")
	again := s.awaitRun(id)
	if again.Nodes[0].Instances[0].TransformID != failed.Nodes[0].Instances[0].TransformID {
		t.Error("what had completed ran again")
	}
	if one := again.Nodes[1].Instances[0]; one.Attempt != 2 || one.RetryOf != failed.Nodes[1].Instances[0].TransformID {
		t.Errorf("the failed node was retried as %+v", one)
	}
}

func TestAPipelineIsCancelled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.startRun(`{"name":"n","nodes":[` + textNode("a", "sim/lorem-10000-50", "") + `,` +
		textNode("b", "sim/echo", `{"node":"a"}`) + `]}`)
	watch := s.stream("GET", "/v1/sessions/"+id+"/events", "")
	defer func() { _ = watch.body.Close() }()
	for began := false; !began; {
		frame, err := watch.next()
		if err != nil {
			t.Fatal(err)
		}
		began = frame.event == "tool.progress"
	}
	want[parley.PipelineRun](s, 200, "POST", "/v1/pipeline-runs/"+id+"/cancel", "")
	run := s.awaitRun(id)
	if run.Status != parley.PipelineCancelled || run.Nodes[0].Status != parley.PipelineCancelled ||
		run.Nodes[1].Status != parley.PipelineCancelled {
		t.Fatalf("the run ended as %+v", run)
	}
	if got := s.do("POST", "/v1/pipeline-runs/"+id+"/cancel", ""); got.status != 409 {
		t.Errorf("cancelling it again: status %d %s", got.status, got.body)
	}
}
