package parley_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

func pipelineNode(name string, inputs ...parley.PipelineEdge) parley.PipelineNode {
	return parley.PipelineNode{
		Name: name, Instructions: "Write.", Inputs: inputs,
		Outputs: []parley.PipelineTarget{{TransformTarget: parley.TransformTarget{
			Name: "content", Kind: parley.ArtifactText, Title: name,
		}}},
	}
}

func from(node string) parley.PipelineEdge { return parley.PipelineEdge{Node: node} }

func pipeline(nodes ...parley.PipelineNode) *parley.Pipeline {
	return &parley.Pipeline{
		Name: "book", Parallel: 2, Nodes: nodes,
		Documents: []parley.PipelineDocument{{Name: "brief", ArtifactID: parley.NewID(), Version: 7}},
	}
}

func TestPipelinesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	brief := parley.PipelineEdge{Document: "brief"}
	each := parley.PipelineEdge{Node: "a", Pointer: "/chapters", Each: true}
	good := pipeline(pipelineNode("a", brief), pipelineNode("b", each), pipelineNode("c", from("b"), from("a")))
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	many := make([]parley.PipelineNode, parley.MaxPipelineNodes+1)
	for i := range many {
		many[i] = pipelineNode(fmt.Sprint("n", i))
	}
	nothing := pipelineNode("a")
	nothing.Instructions = " "
	part := func(of parley.PipelineEdge, pointer string) parley.PipelineEdge {
		of.Pointer = pointer
		return of
	}
	second := func(of parley.PipelineEdge) parley.PipelineEdge {
		of.Output = 1
		return of
	}
	silent := pipelineNode("a")
	silent.Outputs = nil
	for want, p := range map[string]*parley.Pipeline{
		`the nodes form a cycle`:             pipeline(pipelineNode("a", from("b")), pipelineNode("b", from("a"))),
		`node "a" waits for itself`:          pipeline(pipelineNode("a", from("a"))),
		`the node "x", which does not exist`: pipeline(pipelineNode("a", from("x"))),
		`which the run is not given`:         pipeline(pipelineNode("a", parley.PipelineEdge{Document: "x"})),
		`two nodes are named "a"`:            pipeline(pipelineNode("a"), pipelineNode("a")),
		`at least one node`:                  pipeline(),
		`at most 32 nodes`:                   pipeline(many...),
		`only one input can have each`:       pipeline(pipelineNode("a"), pipelineNode("b", each, each)),
		`names either a document or a node`:  pipeline(pipelineNode("a", parley.PipelineEdge{})),
		`"A b" is not a valid name`:          pipeline(pipelineNode("A b")),
		`instructions: is missing`:           pipeline(nothing),
		`between 1 and 16 outputs`:           pipeline(silent),
		`a pointer begins with /`:            pipeline(pipelineNode("a", part(brief, "x"))),
		`reads output 1 of the node "a"`:     pipeline(pipelineNode("a"), pipelineNode("b", second(from("a")))),
		`ran for each takes no pointer`: pipeline(
			pipelineNode("a"), pipelineNode("b", each),
			pipelineNode("c", parley.PipelineEdge{Node: "b", Pointer: "/x", Each: true})),
		`only the input from a node has an o`: pipeline(pipelineNode("a", second(brief))),
	} {
		err := p.Validate()
		if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want one that says %q", err, want)
		}
	}
}

// A run reaches its end whatever its graph is and in whatever order its transforms end, are heard of again, fail, are
// cancelled and retried; nothing begins twice or before what it reads, and what has completed stays.
func TestEveryPipelineRunEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newRunWorld(t)
		for step := 0; !w.run.Status.Finished(); step++ {
			if step > 20_000 {
				t.Fatalf("the run never ends: %+v", w.run)
			}
			w.step(t)
			w.check(t)
			if w.run.Status.Finished() && w.retries > 0 && w.run.Status != parley.PipelineCompleted {
				w.retries--
				if err := w.run.Retry(w.now()); err != nil {
					t.Fatal(err)
				}
				w.check(t)
			}
		}
		if len(w.open) > 0 {
			t.Fatalf("the run is %s while %d transforms are unfinished", w.run.Status, len(w.open))
		}
		if w.run.Status == parley.PipelineCompleted {
			for i := range w.run.Nodes {
				if w.run.Nodes[i].Status != parley.PipelineCompleted {
					t.Fatalf("a completed run has the node %+v", w.run.Nodes[i])
				}
			}
		}
		if err := w.run.Retry(w.now()); w.run.Status == parley.PipelineCompleted &&
			parley.ErrorCode(err) != parley.CodeConflict {
			t.Fatalf("retrying a completed run: %v", err)
		}
	})
}

// runWorld is a run, with what a store and its workers would know of its transforms.
type runWorld struct {
	run     parley.PipelineRun
	clock   parley.Time
	open    []parley.ID                      // transforms that have begun and not ended
	begun   map[parley.ID]bool               // every transform ever
	ends    []parley.PipelineEnd             // that the run has heard of
	kept    map[parley.ID]parley.ArtifactRef // by transform: what completed ones wrote
	failing bool
	retries int
	cancels int
}

func newRunWorld(t *rapid.T) *runWorld {
	nodes := make([]parley.PipelineNode, rapid.IntRange(1, 8).Draw(t, "nodes"))
	for i := range nodes {
		var inputs []parley.PipelineEdge
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "reads") == 0 {
				inputs = append(inputs, from(nodes[j].Name))
			}
		}
		if len(inputs) > 0 && rapid.IntRange(0, 2).Draw(t, "each") == 0 {
			inputs[len(inputs)-1].Each = true
		}
		nodes[i] = pipelineNode(fmt.Sprint("n", i), inputs...)
	}
	given := pipeline(nodes...)
	if err := given.Validate(); err != nil {
		t.Fatal(err)
	}
	w := &runWorld{
		run:   parley.PipelineRun{ID: parley.NewID()},
		begun: map[parley.ID]bool{}, kept: map[parley.ID]parley.ArtifactRef{},
		failing: rapid.Bool().Draw(t, "failing"), retries: rapid.IntRange(0, 3).Draw(t, "retries"),
		cancels: rapid.IntRange(0, 2).Draw(t, "cancels"),
	}
	given.Nodes = rapid.Permutation(nodes).Draw(t, "order")
	given.Parallel = rapid.IntRange(1, 4).Draw(t, "parallel")
	w.run.Start(given, w.now())
	return w
}

func (w *runWorld) now() parley.Time { w.clock++; return w.clock }

func (w *runWorld) step(t *rapid.T) {
	due := w.run.Due()
	if len(due) == 0 && len(w.open) == 0 {
		t.Fatalf("the run is stuck: %+v", w.run)
	}
	if (len(due) > 0) != (w.run.DueAt > 0) {
		t.Fatalf("%d are due, but the run says %d", len(due), w.run.DueAt)
	}
	switch draw := rapid.IntRange(0, 99).Draw(t, "what"); {
	case draw < 2 && w.cancels > 0:
		w.cancels--
		if unfinished, err := w.run.Cancel(w.now()); err != nil || len(unfinished) != len(w.open) {
			t.Fatal(unfinished, err)
		}
	case draw < 12 && len(w.ends) > 0:
		before := w.run.UpdatedAt
		if _, ended := w.run.End(
			rapid.SampledFrom(w.ends).Draw(t, "again"),
			w.now(),
		); ended ||
			w.run.UpdatedAt != before {
			t.Fatal("an end counts twice")
		}
	case draw < 15 && w.failing && len(due) > 0:
		w.run.Refuse(rapid.SampledFrom(due).Draw(t, "refused"), "no", w.now())
	case (draw < 60 || len(w.open) == 0) && len(due) > 0:
		w.begin(t, rapid.SampledFrom(due).Draw(t, "due"))
	case len(w.open) > 0:
		w.end(t)
	}
}

func (w *runWorld) begin(t *rapid.T, start parley.PipelineStart) {
	if start.Instance < 0 {
		if !w.run.Open(start.Node, rapid.IntRange(0, 5).Draw(t, "count"), w.now()) {
			t.Fatal("what is due is refused")
		}
		return
	}
	id, began := w.run.Begin(start, w.now())
	if !began || w.begun[id] {
		t.Fatalf("%+v: began %t, begun before %t", start, began, w.begun[id])
	}
	if _, again := w.run.Begin(start, w.now()); again {
		t.Fatal("it begins twice")
	}
	w.begun[id], w.open = true, append(w.open, id)
}

func (w *runWorld) end(t *rapid.T) {
	at := rapid.IntRange(0, len(w.open)-1).Draw(t, "ends")
	end := parley.PipelineEnd{TransformID: w.open[at], Status: parley.PipelineCompleted, Cost: 3}
	if w.failing && rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		end.Status = rapid.SampledFrom(
			[]parley.PipelineStatus{parley.PipelineFailed, parley.PipelineCancelled},
		).Draw(t, "as")
	} else {
		written := parley.ArtifactRef{ArtifactID: parley.NewID(), Version: 1}
		end.Outputs, w.kept[end.TransformID] = []parley.ArtifactRef{written}, written
	}
	if _, ended := w.run.End(end, w.now()); !ended {
		t.Fatal("an end is not heard")
	}
	w.open, w.ends = slices.Delete(w.open, at, at+1), append(w.ends, end)
}

func (w *runWorld) check(t *rapid.T) {
	running, cost := 0, parley.Money(3*len(w.ends))
	for i := range w.run.Nodes {
		n := &w.run.Nodes[i]
		for _, one := range n.Instances {
			switch one.Status {
			case parley.PipelineRunning:
				running++
				fallthrough
			case parley.PipelineCompleted:
				for _, in := range n.Node.Inputs {
					at := slices.IndexFunc(
						w.run.Nodes,
						func(o parley.PipelineNodeRun) bool { return o.Node.Name == in.Node },
					)
					if w.run.Nodes[at].Status != parley.PipelineCompleted {
						t.Fatalf("%s has begun before %s completed", n.Node.Name, in.Node)
					}
				}
			}
			if kept, done := w.kept[one.TransformID]; done &&
				(one.Status != parley.PipelineCompleted || one.Outputs[0] != kept) {
				t.Fatalf("a completed transform is lost: %+v", one)
			}
		}
	}
	if running != len(w.open) || running > w.run.Parallel {
		t.Fatalf("%d run of %d that have begun, at most %d may", running, len(w.open), w.run.Parallel)
	}
	if w.run.Cost != cost {
		t.Fatalf("the cost is %s, want %s", w.run.Cost, cost)
	}
}

func TestANodeReadsTheElementThatItRunsFor(t *testing.T) {
	t.Parallel()
	given := pipeline(
		pipelineNode("outline", parley.PipelineEdge{Document: "brief"}),
		pipelineNode("chapter", from("outline"),
			parley.PipelineEdge{Node: "outline", Pointer: "/chapters", Each: true}),
		pipelineNode("digest", parley.PipelineEdge{Node: "chapter", Each: true}),
		pipelineNode("summary", from("digest")))
	brief := given.Documents[0]
	given.Parallel = 8
	run := parley.PipelineRun{ID: parley.NewID()}
	run.Start(given, 1)
	if got := run.Inputs(0, 0); len(got) != 1 || got[0].ArtifactID != brief.ArtifactID || got[0].Version != 7 {
		t.Fatalf("the first node reads %+v", got)
	}
	written := map[string][]parley.ID{}
	all := func() {
		for _, start := range run.Due() {
			id, _ := run.Begin(start, 2)
			out := parley.ArtifactRef{ArtifactID: parley.NewID(), Version: 1}
			name := run.Nodes[start.Node].Node.Name
			written[name] = append(written[name], out.ArtifactID)
			run.End(parley.PipelineEnd{
				TransformID: id, Status: parley.PipelineCompleted, Outputs: []parley.ArtifactRef{out},
			}, 3)
		}
	}
	all()
	if due := run.Due(); len(due) != 1 || due[0] != (parley.PipelineStart{Node: 1, Instance: -1}) {
		t.Fatalf("after the outline: %+v", due)
	}
	if array := run.Array(1); array.ArtifactID != written["outline"][0] || array.Pointer != "/chapters" {
		t.Fatalf("counts %+v", array)
	}
	run.Open(1, 3, 2)
	if got := run.Inputs(1, 2); len(got) != 2 || got[0].Pointer != "" || got[1].Pointer != "/chapters/2" {
		t.Fatalf("the third chapter reads %+v", got)
	}
	if got := run.Nodes[1].OutputTitle(0, 2); got != "chapter 3" {
		t.Errorf("the third chapter is named %q", got)
	}
	all()
	if got := run.Inputs(2, 1); len(got) != 1 || got[0].ArtifactID != written["chapter"][1] {
		t.Fatalf("the second digest reads %+v", got)
	}
	all()
	if got := run.Inputs(3, 0); len(got) != 3 {
		t.Fatalf("the summary reads %+v", got)
	}
	all()
	if run.Status != parley.PipelineCompleted || run.EndedAt != 3 || run.StartedAt != 2 {
		t.Fatalf("the run ends as %+v", run)
	}
}
