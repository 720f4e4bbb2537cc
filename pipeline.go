package parley

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Pipeline is what a run is given: transforms that depend on each other's outputs, as a graph without cycles.
type Pipeline struct {
	Name      string             `json:"name"`
	Documents []PipelineDocument `json:"documents" doc:"The documents that its nodes read, by name."`
	Nodes     []PipelineNode     `json:"nodes"`
	Parallel  int                `json:"parallel" doc:"How many of its transforms may be unfinished at once."`
}

// PipelineDocument is a document that a run is given.
type PipelineDocument struct {
	Name       string `json:"name" doc:"What its nodes call it: a-z, 0-9, - and _."`
	ArtifactID ID     `json:"artifact_id"`
	Version    int    `json:"version"`
}

// PipelineNode is a transform of a pipeline: what it reads, what to do, and the documents that it writes. It begins
// when its inputs exist.
type PipelineNode struct {
	Name         string           `json:"name" doc:"Unique in the pipeline: a-z, 0-9, - and _."`
	AgentID      ID               `json:"agent_id" doc:"Whose system prompt and settings count; the run's agent without one."`
	Instructions string           `json:"instructions"`
	Model        ModelID          `json:"model,omitempty"`
	Parameters                    // flat
	Cite         bool             `json:"cite" doc:"Whether the model is asked for the sources of what it writes."`
	Inputs       []PipelineEdge   `json:"inputs"`
	Outputs      []PipelineTarget `json:"outputs" doc:"The documents that it writes. Those of a node that runs for each element are numbered."`
}

// PipelineTarget is a document that a node creates or, in a refresh, writes again.
type PipelineTarget struct {
	TransformTarget
	ArtifactID  ID  `json:"artifact_id" doc:"The document that is written again; null for one that is created."`
	BaseVersion int `json:"base_version,omitempty" doc:"The version that is replaced; null for a new document."`
}

// MarshalJSON writes null for absent fields.
func (t PipelineTarget) MarshalJSON() ([]byte, error) {
	type plain PipelineTarget
	return EncodeJSON(struct {
		*plain
		BaseVersion *int `json:"base_version"`
	}{(*plain)(&t), OrNull(t.BaseVersion)})
}

// PipelineEdge is an input of a node: a document of the run, or what another node wrote. Exactly one of Document and
// Node is set.
type PipelineEdge struct {
	Document string `json:"document,omitempty" doc:"Name of a document that the run is given."`
	Node     string `json:"node,omitempty" doc:"Name of the node whose output it is: all of its documents if it ran for each element of an array."`
	Output   int    `json:"output,omitempty" doc:"Position of the output of that node, from 0."`
	Pointer  string `json:"pointer,omitempty" doc:"JSON Pointer of the part that is meant; empty for the whole document."`
	Each     bool   `json:"each,omitempty" doc:"Runs the node once for each element of this array, or for each document of a node that itself ran for each. At most one input of a node says so."`
}

// MarshalJSON writes null for absent fields.
func (i PipelineEdge) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Document *string `json:"document"`
		Node     *string `json:"node"`
		Output   int     `json:"output"`
		Pointer  string  `json:"pointer"`
		Each     bool    `json:"each"`
	}{OrNull(i.Document), OrNull(i.Node), i.Output, i.Pointer, i.Each})
}

// The bounds of pipelines.
const (
	MaxPipelines            = 1000 // of a workspace
	MaxPipelineNodes        = 32
	MaxPipelineInputs       = MaxTransformInputs // of a node
	MaxPipelineDocuments    = 64                 // that a run is given
	MaxPipelineEach         = 64                 // elements of an array that a node runs for
	MaxPipelineInstances    = 256
	MaxPipelineParallel     = 16
	MaxPipelineAttempts     = 32 // of one instance, retries included
	MaxPipelinePointer      = 1024
	DefaultPipelineParallel = 4
)

// PipelineNodeType is the type of the tool sessions in which the transforms of a run stand.
const PipelineNodeType = "pipeline_node"

// PipelineRunType is the type of the sessions of runs.
const PipelineRunType = "pipeline_run"

var pipelineName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Validate checks a definition; errors are CodeInvalid.
func (p *Pipeline) Validate() error {
	if strings.TrimSpace(p.Name) == "" {
		return InvalidField("name", "is missing or empty")
	}
	if err := CheckText("name", p.Name, MaxNameBytes); err != nil {
		return err
	}
	if p.Parallel < 1 || p.Parallel > MaxPipelineParallel {
		return InvalidField("parallel", "must be from 1 to %d", MaxPipelineParallel)
	}
	return p.validateGraph()
}

// validateGraph checks names, references and that the nodes can be ordered.
func (p *Pipeline) validateGraph() error {
	switch {
	case len(p.Nodes) == 0:
		return InvalidField("nodes", "is missing or empty; a pipeline has at least one node")
	case len(p.Nodes) > MaxPipelineNodes:
		return InvalidField("nodes", "at most %d nodes", MaxPipelineNodes)
	case len(p.Documents) > MaxPipelineDocuments:
		return InvalidField("documents", "at most %d documents", MaxPipelineDocuments)
	}
	for i := range p.Documents {
		name := p.Documents[i].Name
		if !pipelineName.MatchString(name) {
			return InvalidField(
				"documents",
				"%q is not a valid name: use a-z, 0-9, - and _, at most 64",
				Clip(name, 64),
			)
		}
		if documentNamed(p.Documents[:i], name) {
			return InvalidField("documents", "%q is there twice", name)
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !pipelineName.MatchString(n.Name) {
			return InvalidField("nodes", "%q is not a valid name: use a-z, 0-9, - and _, at most 64", Clip(n.Name, 64))
		}
		if nodeNamed(p.Nodes[:i], n.Name) != nil {
			return InvalidField("nodes", "two nodes are named %q", n.Name)
		}
	}
	for i := range p.Nodes {
		if err := p.validateNode(&p.Nodes[i]); err != nil {
			return err
		}
	}
	return p.validateOrder()
}

func (p *Pipeline) validateNode(n *PipelineNode) error {
	if len(n.Inputs) > MaxPipelineInputs {
		return InvalidField("nodes", "node %q: at most %d inputs", n.Name, MaxPipelineInputs)
	}
	each := 0
	for _, in := range n.Inputs {
		if err := p.validateInput(n, in); err != nil {
			return err
		}
		if in.Each {
			each++
		}
	}
	if each > 1 {
		return InvalidField("nodes", "node %q: only one input can have each", n.Name)
	}
	return n.validate()
}

func (p *Pipeline) validateInput(n *PipelineNode, in PipelineEdge) error {
	if (in.Document == "") == (in.Node == "") {
		return InvalidField("nodes", "node %q: an input names either a document or a node", n.Name)
	}
	if len(in.Pointer) > MaxPipelinePointer || in.Pointer != "" && in.Pointer[0] != '/' {
		return InvalidField("nodes", "node %q: a pointer begins with / and has at most %d bytes", n.Name,
			MaxPipelinePointer)
	}
	if err := CheckText("nodes", in.Pointer, MaxPipelinePointer); err != nil {
		return err
	}
	if in.Document != "" {
		if !documentNamed(p.Documents, in.Document) {
			return InvalidField("nodes", "node %q reads the document %q, which the run is not given", n.Name,
				Clip(in.Document, 64))
		}
		if in.Output != 0 {
			return InvalidField("nodes", "node %q: only the input from a node has an output", n.Name)
		}
		return nil
	}
	from := nodeNamed(p.Nodes, in.Node)
	switch {
	case from == nil:
		return InvalidField("nodes", "node %q reads the node %q, which does not exist", n.Name, Clip(in.Node, 64))
	case in.Output < 0 || in.Output >= len(from.Outputs):
		return InvalidField("nodes", "node %q reads output %d of the node %q, which has %d", n.Name, in.Output,
			in.Node, len(from.Outputs))
	case in.Each && in.Pointer != "" && from.ForEach():
		return InvalidField("nodes", "node %q: each over a node that itself ran for each takes no pointer", n.Name)
	}
	return nil
}

// validateOrder takes nodes away whose inputs exist until none is left; what cannot be taken away is on a cycle, or
// behind one.
func (p *Pipeline) validateOrder() error {
	done := map[string]bool{}
	for len(done) < len(p.Nodes) {
		before := len(done)
		for i := range p.Nodes {
			if !slices.ContainsFunc(p.Nodes[i].Inputs, func(in PipelineEdge) bool {
				return in.Node != "" && !done[in.Node]
			}) {
				done[p.Nodes[i].Name] = true
			}
		}
		if len(done) > before {
			continue
		}
		for i := range p.Nodes {
			if !done[p.Nodes[i].Name] {
				return InvalidField("nodes", "node %q waits for itself: the nodes form a cycle", p.Nodes[i].Name)
			}
		}
	}
	return nil
}

func documentNamed(documents []PipelineDocument, name string) bool {
	return slices.ContainsFunc(documents, func(d PipelineDocument) bool { return d.Name == name })
}

func nodeNamed(nodes []PipelineNode, name string) *PipelineNode {
	for i := range nodes {
		if nodes[i].Name == name {
			return &nodes[i]
		}
	}
	return nil
}

// MarshalJSON writes null for absent fields.
func (n PipelineNode) MarshalJSON() ([]byte, error) {
	type plain PipelineNode
	n.Inputs, n.Outputs = append([]PipelineEdge{}, n.Inputs...), append([]PipelineTarget{}, n.Outputs...)
	return EncodeJSON(struct {
		*plain
		Model *ModelID `json:"model"`
	}{(*plain)(&n), OrNull(n.Model)})
}

// validate checks what a node says of its transform.
func (n *PipelineNode) validate() error {
	spec := TransformSpec{Name: n.Name, Instructions: n.Instructions}
	err := spec.Validate()
	if err == nil {
		targets := make([]TransformTarget, len(n.Outputs))
		for i := range n.Outputs {
			targets[i] = n.Outputs[i].TransformTarget
		}
		err = ValidateTargets(targets)
	}
	if err == nil {
		for i := range n.Outputs {
			if len(n.Outputs[i].Title) > MaxNameBytes-len(" 64") {
				err = InvalidField("outputs.title", "is too long to be numbered")
			}
		}
	}
	var told *Error
	if errors.As(err, &told) {
		return InvalidField("nodes", "node %q: %s", n.Name, told.Message)
	}
	return err
}

// ForEach reports whether the node runs once for each element of one of its inputs.
func (n *PipelineNode) ForEach() bool { return n.each() != nil }

// each returns the input that the node runs for each element of; nil for none.
func (n *PipelineNode) each() *PipelineEdge {
	for i := range n.Inputs {
		if n.Inputs[i].Each {
			return &n.Inputs[i]
		}
	}
	return nil
}

// PipelineTransformID returns the id of the transform that an attempt at an instance of a node runs, and of its tool
// session. It is derived, so that the same attempt can never begin twice.
func PipelineTransformID(runID ID, node string, instance, attempt int) ID {
	hashed := append([]byte("parley pipeline node "), runID[:]...)
	hashed = binary.BigEndian.AppendUint64(hashed, uint64(instance))
	hashed = binary.BigEndian.AppendUint64(hashed, uint64(attempt))
	sum := sha256.Sum256(append(hashed, node...))
	id := runID
	copy(id[6:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}
