package parley

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Artifact is a document with numbered, immutable versions: what conversations produce. One in a session has the
// session's owner and visibility; one in a project, or in neither, has its own.
type Artifact struct {
	ID          ID           `json:"id"`
	WorkspaceID ID           `json:"workspace_id"`
	ProjectID   ID           `json:"project_id"`
	SessionID   ID           `json:"session_id"` // the session that it belongs to, and goes with
	OwnerID     ID           `json:"owner_id"`
	Visibility  Visibility   `json:"visibility"`
	Kind        ArtifactKind `json:"kind"`
	Name        string       `json:"name"`
	Labels      []string     `json:"labels"`
	// Schema is the JSON Schema that every version satisfies; null for none.
	Schema      json.RawMessage `json:"schema"`
	Version     int             `json:"version" doc:"Number of the current version."`
	Newest      int             `json:"newest_version" doc:"Number of the newest version: greater than version if that one is in conflict."`
	ContentHash Hash            `json:"content_hash" doc:"SHA-256 of the current version's bytes."`
	Bytes       int64           `json:"size" doc:"Bytes of the current version."`
	// MediaType says what the bytes of a file are.
	MediaType  string `json:"media_type,omitempty" doc:"Of kind file: the type of the current version, detected from its bytes; null for other kinds."`
	ArchivedAt Time   `json:"archived_at"`
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at" doc:"When it last got a version, or was changed otherwise."`

	// SearchName is the name in lower case, which lists search in.
	SearchName string `json:"-"`
	// Revision counts all changes of the row: a change names the one that it is made to.
	Revision int64 `json:"-"`
}

// MarshalJSON writes null for absent fields.
func (a Artifact) MarshalJSON() ([]byte, error) {
	type plain Artifact
	return EncodeJSON(struct {
		*plain
		MediaType *string `json:"media_type"`
	}{(*plain)(&a), OrNull(a.MediaType)})
}

// ArtifactKind is what an artifact's content is. It never changes.
type ArtifactKind string

// The kinds. A file is bytes of any sort; all but it and json are text.
const (
	ArtifactJSON     ArtifactKind = "json"
	ArtifactMarkdown ArtifactKind = "markdown"
	ArtifactText     ArtifactKind = "text"
	ArtifactCode     ArtifactKind = "code"
	ArtifactCSV      ArtifactKind = "csv"
	ArtifactHTML     ArtifactKind = "html"
	ArtifactSVG      ArtifactKind = "svg"
	ArtifactFile     ArtifactKind = "file"
)

// ArtifactKinds lists every kind.
func ArtifactKinds() []ArtifactKind {
	return []ArtifactKind{
		ArtifactJSON, ArtifactMarkdown, ArtifactText, ArtifactCode, ArtifactCSV, ArtifactHTML, ArtifactSVG,
		ArtifactFile,
	}
}

// The bounds of artifacts. How much a workspace may hold is a quota of storage: the stored bytes of contents count.
const (
	MaxArtifactLabels      = 64
	MaxArtifactVersions    = 100_000  // of an artifact
	MaxArtifactSchemaBytes = 64 << 10 // of its schema
)

// Validate checks what an artifact says of itself; errors are CodeInvalid. That the schema can be checked against is
// for package schema.
func (a *Artifact) Validate() error {
	if strings.TrimSpace(a.Name) == "" {
		return InvalidField("name", "is missing or empty")
	}
	if err := CheckText("name", a.Name, MaxNameBytes); err != nil {
		return err
	}
	if !slices.Contains(ArtifactKinds(), a.Kind) {
		return InvalidField("kind", "%q is not one of json, markdown, text, code, csv, html, svg, file",
			Clip(string(a.Kind), 32))
	}
	if a.Visibility != VisibilityPrivate && a.Visibility != VisibilityWorkspace {
		return InvalidField("visibility", "%q is not one of private, workspace", Clip(string(a.Visibility), 32))
	}
	if len(a.Labels) > MaxArtifactLabels {
		return InvalidField("labels", "at most %d labels", MaxArtifactLabels)
	}
	for _, label := range a.Labels {
		if err := CheckText("labels", label, MaxNameBytes); err != nil {
			return err
		}
	}
	return a.validateSchema()
}

func (a *Artifact) validateSchema() error {
	switch {
	case a.Schema == nil:
		return nil
	case a.Kind != ArtifactJSON:
		return InvalidField("schema", "only a json artifact has one")
	case len(a.Schema) > MaxArtifactSchemaBytes:
		return InvalidField("schema", "is longer than %d bytes", MaxArtifactSchemaBytes)
	case !bytes.HasPrefix(bytes.TrimSpace(a.Schema), []byte("{")):
		return InvalidField("schema", `must be a JSON Schema, such as {"type":"object"}`)
	}
	return nil
}

// KindOfFile returns the kind of the artifact that a file becomes: by its extension if it is text, and ArtifactFile if
// it is not.
func KindOfFile(name string, content []byte) ArtifactKind {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return ArtifactFile
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return ArtifactJSON
	case ".md", ".markdown":
		return ArtifactMarkdown
	case ".csv":
		return ArtifactCSV
	case ".html", ".htm":
		return ArtifactHTML
	case ".svg":
		return ArtifactSVG
	case ".go", ".py", ".js", ".ts", ".sql", ".sh":
		return ArtifactCode
	}
	return ArtifactText
}

// EncodeDocument returns the bytes of a content as the API takes them: JSON itself, bytes of a file in base64, and text
// as a string. CodeInvalid for what is not JSON and not text.
func EncodeDocument(kind ArtifactKind, content []byte) (json.RawMessage, error) {
	switch {
	case kind == ArtifactFile:
		return AppendJSONString(nil, base64.StdEncoding.EncodeToString(content)), nil
	case kind == ArtifactJSON && !json.Valid(content):
		return nil, InvalidField("content", "is not valid JSON")
	case kind == ArtifactJSON:
		return content, nil
	case !utf8.Valid(content):
		return nil, InvalidField("content", "is not text; make an artifact of kind file of it")
	}
	return AppendJSONString(nil, string(content)), nil
}

// CheckContent checks bytes that are to become a version of the artifact, apart from its schema. CodeTooLarge beyond
// MaxDocumentBytes; CodeInvalid.
func (a *Artifact) CheckContent(content []byte) error {
	if len(content) > MaxDocumentBytes {
		return Errorf(CodeTooLarge, "The content is longer than %d bytes, the most that an artifact holds.",
			MaxDocumentBytes)
	}
	switch a.Kind {
	case ArtifactFile:
		return nil
	case ArtifactJSON:
	default:
		return CheckText("content", string(content), MaxDocumentBytes)
	}
	if err := CheckJSON(content); err != nil {
		return InvalidField("content", "is not JSON that can be stored: %s", Clip(err.Error(), 200))
	}
	if !json.Valid(content) {
		return InvalidField("content", "is not valid JSON")
	}
	return nil
}

// ServedType is the type under which a version's bytes are served: nothing that a browser would run. detected is the
// version's MediaType.
func (a *Artifact) ServedType(detected string) string {
	switch {
	case a.Kind == ArtifactJSON:
		return "application/json"
	case a.Kind == ArtifactFile && !strings.HasPrefix(detected, "text/"):
		return detected
	}
	return "text/plain; charset=utf-8"
}

// Size is about how many bytes the artifact's row holds.
func (a Artifact) Size() int { return len(a.Name) + len(a.Schema) + 64*len(a.Labels) + 512 }

// ArtifactVersion is one version of an artifact. It never changes.
type ArtifactVersion struct {
	ArtifactID  ID  `json:"artifact_id"`
	WorkspaceID ID  `json:"workspace_id"`
	Number      int `json:"number" doc:"From 1, without gaps."`
	// Parent is the version that its content was made from. Base is the one that its writer had read: an older one if
	// the writing was merged with what others had written since.
	Parent       int    `json:"parent,omitempty" doc:"The version that its content was made from; null for the first."`
	Base         int    `json:"base,omitempty" doc:"The version that its writer began with: older than parent if the changes were merged with later ones; null for the first."`
	RestoredFrom int    `json:"restored_from,omitempty" doc:"The version whose content was restored; null for others."`
	Author       Author `json:"author"`
	// SessionID and MessageID name the tool call that wrote it, or the answer of the transform.
	SessionID   ID     `json:"session_id"`
	MessageID   ID     `json:"message_id"`
	TransformID ID     `json:"transform_id" doc:"The transform that wrote it: a generation, or the edit that stands for what somebody wrote by hand; null for what an agent wrote with its tools."`
	Conflict    bool   `json:"conflict" doc:"Whether the artifact had moved on when a transform wrote it: it never was the current version."`
	ContentHash Hash   `json:"content_hash" doc:"SHA-256 of its bytes."`
	Bytes       int64  `json:"size" doc:"Bytes."`
	MediaType   string `json:"media_type,omitempty" doc:"Of kind file: the type, detected from the bytes; null for other kinds."`
	CreatedAt   Time   `json:"created_at"`
}

// MarshalJSON writes null for absent fields.
func (v ArtifactVersion) MarshalJSON() ([]byte, error) {
	type plain ArtifactVersion
	return EncodeJSON(struct {
		*plain
		Parent       *int    `json:"parent"`
		Base         *int    `json:"base"`
		RestoredFrom *int    `json:"restored_from"`
		MediaType    *string `json:"media_type"`
	}{(*plain)(&v), OrNull(v.Parent), OrNull(v.Base), OrNull(v.RestoredFrom), OrNull(v.MediaType)})
}

// Merged reports whether the version joins its writer's changes with those of others.
func (v *ArtifactVersion) Merged() bool { return v.Base != v.Parent }

// Size is about how many bytes the version's row holds.
func (v ArtifactVersion) Size() int { return len(v.Author.Name) + 256 }

// WrittenByCall returns the idempotency key under which a tool_call message writes its version, which nobody else
// names: repeating the call finds the version.
func WrittenByCall(callMessageID ID) string { return KeyFor("", "artifact", callMessageID.String()) }
