package engine

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/imports"
	"example.org/parley/store"
)

// The bounds of a file to import. One beyond the first is uploaded before, and only one of those is read at once: while
// it is, it takes several times its size.
const (
	MaxImportText  = 8 << 20 // sent as text
	MaxImportBytes = imports.MaxBytes
)

// importKey begins the idempotency keys of imported sessions. No header can hold it, so nobody else makes such a key.
const importKey = "\x01import:"

// ImportInput is a file whose sessions are to be imported.
type ImportInput struct {
	Name   string    `json:"name,omitempty" doc:"The file's name or path: errors quote it, and some formats learn from it what the file is about."`
	Text   string    `json:"text,omitempty" doc:"The whole file, at most 8 MiB; or file_id."`
	FileID parley.ID `json:"file_id,omitzero" doc:"Id of an uploaded file to import, at most 32 MiB; name is its name by default."`
	Agent  string    `json:"agent,omitempty" doc:"Id or slug of the agent that the sessions get. By default the one with the file's slug, else parley."`
	DryRun bool      `json:"dry_run,omitempty" doc:"Say what would happen, and change nothing."`

	// Hold counts memory before it is taken: of a file that is read, and of what a text becomes once it is decoded. Its
	// error refuses the import; nil counts nothing.
	Hold func(bytes int64) error `json:"-"`
}

func (i *ImportInput) holds(bytes int64) error {
	if i.Hold == nil {
		return nil
	}
	return i.Hold(bytes)
}

// Imported is the report of an import.
type Imported struct {
	Format   string            `json:"format"`
	DryRun   bool              `json:"dry_run"`
	Sessions []ImportedSession `json:"sessions"`
}

// ImportOutcome is what became of a session of a file.
type ImportOutcome string

// The outcomes.
const (
	ImportCreated   ImportOutcome = "created"   // or would be
	ImportUnchanged ImportOutcome = "unchanged" // the same was imported before
)

// ImportedSession is what became of one session of a file.
type ImportedSession struct {
	Outcome   ImportOutcome  `json:"outcome"`
	SessionID parley.ID      `json:"session_id"` // null if a dry run would make it
	AgentID   parley.ID      `json:"agent_id"`
	Title     string         `json:"title"`
	Messages  int            `json:"messages"`
	Left      []imports.Note `json:"left"` // what is not carried over
}

// ImportSessions makes sessions of a file, each whole in one transaction. They belong to the principal and are private;
// authors' names are text. A session that was imported before is left alone, so repeating an import that broke off
// completes it. CodeInvalid names the place in the file; CodeConflict means that an imported session differs from the
// file.
func (e *Engine) ImportSessions(
	ctx context.Context,
	principal parley.Principal,
	input ImportInput,
) (_ Imported, err error) {
	ctx, call, err := e.enter(ctx, principal, "importSessions", OpenSessions)
	if err != nil {
		return Imported{}, err
	}
	defer call.end(ctx, &err)
	leave, err := e.imports.enter(principal)
	if err != nil {
		return Imported{}, err
	}
	defer leave()
	if err := parley.CheckText("name", input.Name, imports.MaxNameBytes); err != nil {
		return Imported{}, err
	}
	text, done, err := e.textOfImport(ctx, call.Scope, &input)
	if err != nil {
		return Imported{}, err
	}
	defer done()
	format, sessions, err := imports.Read(input.Name, text, parley.Now())
	if err != nil {
		return Imported{}, err
	}
	report := Imported{Format: format, DryRun: input.DryRun, Sessions: []ImportedSession{}}
	wanted := make([]store.NewImport, len(sessions))
	for i := range sessions { // all are checked before the first is stored
		if wanted[i], err = e.newImport(ctx, call.Scope, principal, format, &input, &sessions[i]); err != nil {
			return Imported{}, err
		}
	}
	enter := e.store.ImportSession
	if input.DryRun {
		enter, ctx = e.store.PlanImport, call.runsDry(ctx)
	}
	for i := range wanted {
		var made store.Imported
		if err := e.importing.run(ctx, func() (err error) {
			made, err = enter(ctx, call.Scope, wanted[i])
			return err
		}); err != nil {
			return Imported{}, err
		}
		if !made.Created || !input.DryRun {
			call.about(of(made.Session.ID))
		}
		report.Sessions = append(report.Sessions, reported(&made, &sessions[i], input.DryRun))
	}
	return report, nil
}

// textOfImport returns the file's text, which is given or uploaded. done lets the next large file be read.
func (e *Engine) textOfImport(
	ctx context.Context,
	scope store.Scope,
	input *ImportInput,
) (text []byte, done func(), err error) {
	done = func() {}
	switch {
	case input.FileID.IsZero() && len(input.Text) > MaxImportText:
		return nil, nil, parley.Errorf(parley.CodeTooLarge,
			"text has more than %d bytes. Upload the file and give its file_id.", MaxImportText)
	case input.FileID.IsZero():
		text = []byte(input.Text)
	case input.Text != "":
		return nil, nil, parley.InvalidField("file_id", "give either text or file_id")
	default:
		if text, done, err = e.uploadedImport(ctx, scope, input); err != nil {
			return nil, nil, err
		}
	}
	if err := input.holds(parley.JSONHolds(text)); err != nil {
		done()
		return nil, nil, err
	}
	return text, done, nil
}

// uploadedImport reads an uploaded file.
func (e *Engine) uploadedImport(
	ctx context.Context,
	scope store.Scope,
	input *ImportInput,
) (text []byte, done func(), err error) {
	file, err := e.store.File(ctx, scope, input.FileID)
	if err != nil {
		return nil, nil, inside("file_id", err)
	}
	if file.Size > MaxImportBytes {
		return nil, nil, parley.Errorf(parley.CodeTooLarge,
			"The file has more than %d bytes, the most that can be imported at once.", MaxImportBytes)
	}
	if input.Name == "" {
		input.Name = file.Name
	}
	if err := input.holds(file.Size); err != nil {
		return nil, nil, err
	}
	done = func() {}
	if file.Size > MaxImportText {
		if !e.largeImport.TryLock() {
			return nil, nil, busy("another large file is being imported; wait until it has ended")
		}
		done = e.largeImport.Unlock
	}
	text = make([]byte, file.Size)
	if _, err := io.ReadFull(e.openFile(ctx, file), text); err != nil {
		done()
		return nil, nil, err
	}
	return text, done, nil
}

func reported(made *store.Imported, from *imports.Session, dry bool) ImportedSession {
	told := ImportedSession{
		Outcome: ImportUnchanged, SessionID: made.Session.ID, AgentID: made.Session.AgentID,
		Title: made.Session.Title, Messages: len(from.Messages), Left: from.Left,
	}
	if made.Created {
		if told.Outcome = ImportCreated; dry {
			told.SessionID = parley.ID{}
		}
	}
	if made.KeyTaken {
		told.Left = append(told.Left, imports.Note{
			Text: "the key is not carried over, because another session has it; get-or-create returns that one",
		})
	}
	told.Left = orEmpty(told.Left)
	return told
}

// newImport checks a session of a file, as if it were created here.
func (e *Engine) newImport(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	format string,
	input *ImportInput,
	from *imports.Session,
) (store.NewImport, error) {
	metadata, err := importedMetadata(format, input.Name, from)
	if err != nil {
		return store.NewImport{}, err
	}
	agent := input.Agent
	if agent == "" && from.Agent != "" {
		agent, err = e.agentLike(ctx, scope, from)
		if err != nil {
			return store.NewImport{}, err
		}
	}
	created := SessionInput{
		AgentID:      agent,
		Type:         from.Type,
		Feature:      from.Feature,
		Task:         from.Task,
		Key:          from.Key,
		Title:        from.Title,
		Instructions: from.Instructions,
		Tags:         keptTags(from.Tags),
		Pinned:       from.Pinned,
		Metadata:     metadata,
		Visibility:   parley.VisibilityPrivate, // whatever new sessions are
	}
	if from.Background {
		created.Mode = parley.ModeBackground
	}
	if created.Title == "" {
		created.Title = parley.TitleFrom(path.Base(strings.ReplaceAll(input.Name, `\`, "/")))
	}
	session, err := e.newSession(ctx, scope, principal, created)
	if err != nil {
		return store.NewImport{}, inside("text", err)
	}
	now := parley.Now()
	session.Status = either(from.Status, parley.SessionPending)
	session.CreatedAt, session.UpdatedAt = either(from.CreatedAt, now), either(from.UpdatedAt, now)
	if len(from.Messages) > 0 {
		session.StartedAt, session.FinishedAt = session.CreatedAt, session.UpdatedAt
	}
	if from.Archived {
		session.ArchivedAt = session.UpdatedAt
	}
	session.Statistics.Tokens, session.Statistics.Cost = from.Tokens, from.Cost
	if err := e.filesOfImport(ctx, scope, from); err != nil {
		return store.NewImport{}, err
	}
	record := recordOf(from.Messages)
	return store.NewImport{
		Session: session, Messages: from.Messages, Quota: e.sessionsQuota(principal),
		Origin: store.Idempotency{Key: originOf(principal, format, from, record), Fingerprint: record},
	}, nil
}

// agentLike returns the agent that a file names, if the workspace has it, and otherwise "" with a note.
func (e *Engine) agentLike(ctx context.Context, scope store.Scope, from *imports.Session) (string, error) {
	agent, err := e.agent(ctx, scope, from.Agent)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound, err == nil && agent.Status == parley.AgentArchived:
		from.Left = append(from.Left, imports.Note{
			Pointer: "/agent",
			Text: "this workspace has no active agent " + parley.Clip(from.Agent, parley.MaxNameBytes) +
				"; the session gets " + parley.BuiltinAgentSlug,
		})
		return "", nil
	case err != nil:
		return "", err
	}
	return agent.ID.String(), nil
}

// importedMetadata is the session's metadata with the member import, which marks the session and says which of its
// tokens and cost were used elsewhere.
func importedMetadata(format, name string, from *imports.Session) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(from.Metadata) > 0 && from.Metadata[0] == '{' {
		if err := json.Unmarshal(from.Metadata, &members); err != nil {
			return nil, parley.WrapError(parley.CodeInvalid, err, "text: the session's metadata cannot be read")
		}
	}
	var err error
	members["import"], err = parley.EncodeJSON(struct {
		Format   string        `json:"format"`
		Name     string        `json:"name"`
		Identity string        `json:"identity"`
		Tokens   parley.Tokens `json:"tokens"`
		Cost     parley.Money  `json:"cost"`
	}{format, name, from.Identity, from.Tokens, from.Cost})
	if err != nil {
		return nil, err
	}
	return parley.EncodeJSON(members)
}

// filesOfImport takes the files out of messages that the principal does not see here. Their names, types and hashes
// stay.
func (e *Engine) filesOfImport(ctx context.Context, scope store.Scope, from *imports.Session) error {
	seen := map[parley.ID]bool{}
	for i := range from.Messages {
		m := &from.Messages[i]
		var gone []parley.ID
		for _, id := range parley.FilesOf(m.Content) {
			visible, known := seen[id]
			if !known {
				if len(seen) == imports.MaxFiles {
					return parley.InvalidField(
						"text",
						"its messages show more than %d files; split it",
						imports.MaxFiles,
					)
				}
				_, err := e.store.File(ctx, scope, id)
				if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
					return err
				}
				if visible = err == nil; !visible {
					from.Leave("", "the file "+id.String()+" is not here; its message keeps its name and hash")
				}
				seen[id] = visible
			}
			if !visible {
				gone = append(gone, id)
			}
		}
		if len(gone) == 0 {
			continue
		}
		var err error
		if m.Content, err = parley.WithoutFiles(m.Content, gone); err != nil {
			return err
		}
	}
	return nil
}

// recordOf is the hash of everything that a record says. Ids do not count: every reading mints new ones.
func recordOf(messages []parley.Message) (record parley.Hash) {
	calls, made := map[string]int64{}, int64(0)
	for i := range messages {
		m := messages[i]
		switch m.Role {
		case parley.RoleToolCall:
			made++
			calls[m.ToolCallID], m.CallOrdinal = made, made
		case parley.RoleToolResult:
			m.CallOrdinal = calls[m.ToolCallID]
		}
		if hash, err := parley.ChainHash(record, m.ChainInput()); err == nil {
			record = hash
		}
	}
	return record
}

// originOf identifies what is imported for whom: by the identity that the file gives, else by the record itself.
func originOf(principal parley.Principal, format string, from *imports.Session, record parley.Hash) string {
	identity := from.Identity
	if identity == "" {
		identity = record.String()
	}
	text := parley.AppendJSONString([]byte(principal.ID.String()), format)
	return importKey + parley.HashOf(parley.AppendJSONString(text, identity)).String()
}
