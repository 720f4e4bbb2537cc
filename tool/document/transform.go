package document

import (
	"context"

	"example.org/parley"
	"example.org/parley/tool"
)

func transformDefinition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name: parley.RunTransformTool,
		Description: "Runs a transform that was defined before: a model of its own reads the documents (artifacts) " +
			"that you name and writes others. The call returns when they are written and names them; read_artifact " +
			"reads them.",
		Parameters: schema([]string{"definition"},
			`"definition":{"description":"Id or slug of the definition.","type":"string"}`,
			`"inputs":{"description":"The documents to read.","items":{"additionalProperties":false,"properties":{`+
				`"artifact_id":{"description":"As list_artifacts or write_artifact gave it.","type":"string"},`+
				`"name":{"description":"What the transform calls it. Default the document's name.","type":"string"},`+
				`"pointer":{"description":"JSON Pointer to the part to read. Default all of it.","type":"string"},`+
				`"version":{"description":"Default the newest.","minimum":1,"type":"integer"}},`+
				`"required":["artifact_id"],"type":"object"},"maxItems":64,"type":"array"}`,
			`"instructions":{"description":"What to say beyond the definition's own instructions.","type":"string"}`,
			`"outputs":{"description":"Documents to write a new version of. Default: new documents of this `+
				`conversation.","items":{"additionalProperties":false,"properties":{`+
				`"artifact_id":{"description":"The document to write. Default a new one.","type":"string"},`+
				`"base_version":{"description":"The version that is replaced. Default the newest.","minimum":1,`+
				`"type":"integer"},`+
				`"name":{"description":"Which output of the definition. Default its only one.","type":"string"},`+
				`"title":{"description":"Name of a new document.","type":"string"}},`+
				`"type":"object"},"maxItems":16,"type":"array"}`),
	}
}

// runTransform fails: the turn waits for the transform, which the runtime opens.
func runTransform(context.Context, tool.Call) (any, error) {
	return nil, parley.Errorf(parley.CodeUnsupported,
		"%s is answered by a transform: the runtime must open it", parley.RunTransformTool)
}
