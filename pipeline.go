package parley

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
)

// Pipeline is a definition: transforms that depend on each other's outputs, as a graph without cycles. A run keeps the
// nodes that it began with, so a change concerns later runs only.
type Pipeline struct {
	ID          ID         `json:"id"`
	WorkspaceID ID         `json:"workspace_id"`
	ProjectID   ID         `json:"project_id"` // of what its runs create; null for none
	AgentID     ID         `json:"agent_id"`   // runs the nodes that name no other agent
	OwnerID     ID         `json:"owner_id"`
	Visibility  Visibility `json:"visibility"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	// Documents are the names of the documents that each run must be given.
	Documents  []string       `json:"documents"`
	Nodes      []PipelineNode `json:"nodes"`
	Parallel   int            `json:"parallel" doc:"How many transforms of a run may be unfinished at once."`
	Version    int            `json:"version" doc:"Counts its changes, from 1."`
	ArchivedAt Time           `json:"archived_at"`
	CreatedAt  Time           `json:"created_at"`
	UpdatedAt  Time           `json:"updated_at"`
}

// PipelineNode is a transform of a pipeline: its instructions, and what it writes. It begins when its inputs exist.
type PipelineNode struct {
	Name         string `json:"name" doc:"Unique in the pipeline: a-z, 0-9, - and _."`
	AgentID      ID     `json:"agent_id,omitzero" doc:"Runs it; the agent of the pipeline without one."`
	DefinitionID ID     `json:"definition_id,omitzero" doc:"Definition of the transform, in its newest version when the node begins; without one, the node has instructions."`
	Instructions string `json:"instructions,omitempty"`
	// Output asks for an object; without one, the answer's text is what is written.
	Output  *Output          `json:"output,omitempty"`
	Inputs  []PipelineInput  `json:"inputs"`
	Outputs []PipelineOutput `json:"outputs"`
}

// PipelineOutput is a document that a node creates. Those of a node that runs for each element are numbered.
type PipelineOutput struct {
	Kind ArtifactKind `json:"kind"`
	Name string       `json:"name"`
}

// PipelineInput is an input of a node: a document of the run, or what another node wrote. Exactly one of Document and
// Node is set.
type PipelineInput struct {
	Document string `json:"document,omitempty" doc:"Name of a document that the run is given."`
	Node     string `json:"node,omitempty" doc:"Name of the node whose output it is: all of its documents if it ran for each element of an array."`
	Output   int    `json:"output,omitempty" doc:"Position of the output of that node, from 0."`
	Pointer  string `json:"pointer,omitempty" doc:"JSON Pointer of the part that is meant; empty for the whole document."`
	Each     bool   `json:"each,omitempty" doc:"Runs the node once for each element of this array, or for each document of a node that itself ran for each. At most one input of a node says so."`
}

// MarshalJSON writes null for absent fields.
func (i PipelineInput) MarshalJSON() ([]byte, error) {
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
	MaxPipelineInputs       = 16 // of a node
	MaxPipelineOutputs      = 8  // of a node
	MaxPipelineDocuments    = 16 // that a run is given
	MaxPipelineEach         = 64 // elements of an array that a node runs for
	MaxPipelineInstances    = 256
	MaxPipelineParallel     = 16
	MaxPipelineAttempts     = 32 // of one instance, retries included
	MaxPipelinePointer      = 1024
	MaxPipelineBytes        = 256 << 10 // of a definition as JSON
	DefaultPipelineParallel = 4
)

var pipelineName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Validate checks a definition; errors are CodeInvalid.
func (p *Pipeline) Validate() error {
	if strings.TrimSpace(p.Name) == "" {
		return InvalidField("name", "is missing or empty")
	}
	if err := CheckText("name", p.Name, MaxNameBytes); err != nil {
		return err
	}
	if err := CheckText("description", p.Description, MaxTextBytes); err != nil {
		return err
	}
	if p.Visibility != VisibilityPrivate && p.Visibility != VisibilityWorkspace {
		return InvalidField("visibility", "%q is not one of private, workspace", Clip(string(p.Visibility), 32))
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
	for i, name := range p.Documents {
		if !pipelineName.MatchString(name) {
			return InvalidField("documents", "%q is not a valid name: use a-z, 0-9, - and _, at most 64", Clip(name, 64))
		}
		if slices.Contains(p.Documents[:i], name) {
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

func (p *Pipeline) validateInput(n *PipelineNode, in PipelineInput) error {
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
		if !slices.Contains(p.Documents, in.Document) {
			return InvalidField("nodes", "node %q reads the document %q, which the pipeline does not list", n.Name,
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
			if !slices.ContainsFunc(p.Nodes[i].Inputs, func(in PipelineInput) bool {
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
	return EncodeJSON(struct {
		Name         string           `json:"name"`
		AgentID      ID               `json:"agent_id"`
		DefinitionID ID               `json:"definition_id"`
		Instructions *string          `json:"instructions"`
		Output       *Output          `json:"output"`
		Inputs       []PipelineInput  `json:"inputs"`
		Outputs      []PipelineOutput `json:"outputs"`
	}{
		n.Name, n.AgentID, n.DefinitionID, OrNull(n.Instructions), n.Output, append([]PipelineInput{}, n.Inputs...),
		append([]PipelineOutput{}, n.Outputs...),
	})
}

// validate checks what a node says of its transform.
func (n *PipelineNode) validate() error {
	if n.DefinitionID.IsZero() && strings.TrimSpace(n.Instructions) == "" {
		return InvalidField("nodes", "node %q has neither instructions nor a definition", n.Name)
	}
	if err := CheckText("nodes", n.Instructions, MaxTextBytes); err != nil {
		return err
	}
	if n.Output != nil {
		if err := n.Output.Validate(); err != nil {
			return err
		}
	}
	if len(n.Outputs) == 0 || len(n.Outputs) > MaxPipelineOutputs {
		return InvalidField("nodes", "node %q: from 1 to %d outputs", n.Name, MaxPipelineOutputs)
	}
	for _, out := range n.Outputs {
		if strings.TrimSpace(out.Name) == "" {
			return InvalidField("nodes", "node %q: an output has no name", n.Name)
		}
		if err := CheckText("nodes", out.Name, MaxNameBytes-len(" 999")); err != nil {
			return err
		}
		if !slices.Contains(ArtifactKinds(), out.Kind) {
			return InvalidField("nodes", "node %q: %q is not a kind of document", n.Name, Clip(string(out.Kind), 32))
		}
	}
	return nil
}

// ForEach reports whether the node runs once for each element of one of its inputs.
func (n *PipelineNode) ForEach() bool { return n.each() != nil }

// each returns the input that the node runs for each element of; nil for none.
func (n *PipelineNode) each() *PipelineInput {
	for i := range n.Inputs {
		if n.Inputs[i].Each {
			return &n.Inputs[i]
		}
	}
	return nil
}

// PipelineTransformID returns the id of the transform that an attempt at an instance of a node runs. It is derived, so
// that the same attempt can never begin twice.
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
