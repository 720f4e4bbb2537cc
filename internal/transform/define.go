package transform

import "example.org/parley"

// Define makes a transform one of a definition, with instructions of its own after those of the definition.
// CodeArchived.
func Define(t *parley.Transform, d *parley.TransformDefinition, instructions string) error {
	if d.Status == parley.AgentArchived {
		return parley.Errorf(parley.CodeArchived, "the definition %q is archived", d.Slug)
	}
	t.DefinitionID, t.DefinitionVersion, t.TransformSpec = d.ID, d.Version, d.TransformSpec
	if instructions != "" {
		t.Instructions += "\n\n" + instructions
	}
	for _, target := range d.Outputs {
		t.Outputs = append(t.Outputs, parley.TransformOutput{TransformTarget: target})
	}
	return nil
}

// Defined finds an output of a definition by its name, which may be left out for an only one.
func Defined(t *parley.Transform, name string) (*parley.TransformOutput, error) {
	for i := range t.Outputs {
		if out := &t.Outputs[i]; out.Name == name || name == "" && len(t.Outputs) == 1 {
			return out, nil
		}
	}
	return nil, parley.InvalidField("outputs.name", "the definition has no output %q", parley.Clip(name, 64))
}
