package engine

import (
	"cmp"
	"context"
	"io"
	"slices"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// attachments finds the files of messages for one rebuilt request.
type attachments struct {
	engine      *Engine
	ctx         context.Context //nolint:containedctx // the context of the only call that it serves
	workspaceID parley.ID
	vision      bool
	images      bool // the request has images
	err         error
}

func (a *attachments) of(messages []parley.Message) (prompt.Attachments, error) {
	var files prompt.Attachments
	files, a.err = prompt.Attach(messages, a.vision, func(id parley.ID) (parley.File, error) {
		file, err := a.engine.store.File(a.ctx, store.Scope{WorkspaceID: a.workspaceID}, id)
		a.images = a.images || err == nil && file.IsImage()
		return file, err
	}, func(file parley.File) ([]byte, error) {
		data := make([]byte, file.Size)
		_, err := io.ReadFull(a.engine.openFile(a.ctx, file), data)
		return data, err
	})
	return files, a.err
}

// checkAnswerable fills in what parts leave to the server, and refuses what the answering model cannot do: files that
// it cannot be shown, and a search that nothing serves.
func (e *Engine) checkAnswerable(
	ctx context.Context,
	scope store.Scope,
	message *store.NewMessage,
	agent *parley.Agent,
	session *parley.Session,
) error {
	ids := parley.FilesOf(message.Content)
	files, err := e.filesIn(ctx, scope, ids)
	if err != nil {
		return err
	}
	if message.Content, err = parley.FillParts(message.Content, files); err != nil {
		return err
	}
	if message.Role != parley.RoleUser {
		return nil // files in other messages are shown as far as possible
	}
	set := setting.Effective(message.Settings, &session.Settings, &agent.Settings)
	_, info, err := e.models.Resolve(cmp.Or(set.Model, e.models.Default()))
	if err != nil {
		return err
	}
	if _, search := parley.Wishes(message.Content); search && agent.Runtime == parley.StandardRuntime {
		if err := e.checkSearch(info, parley.ValueOf(set.Tools)); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	var total int64
	tokens := 0
	for _, file := range files {
		if err := checkFile(file, info); err != nil {
			return err
		}
		total += file.Size
		tokens += prompt.EstimateFile(file)
	}
	if total > parley.MaxShownBytes {
		return parley.InvalidField(
			"content.files",
			"have %d bytes together; a model is shown %d at most",
			total,
			parley.MaxShownBytes,
		)
	}
	message.TokenEstimate += tokens
	return nil
}

// checkSearch refuses a search that neither the model's provider nor a tool of the session can do.
func (e *Engine) checkSearch(model model.Info, tools []parley.ToolRef) error {
	offered := slices.ContainsFunc(tools, func(ref parley.ToolRef) bool { return ref.Offers(parley.WebSearchTool) })
	if model.Search || offered && e.hasTool(parley.WebSearchTool) {
		return nil
	}
	help := "this server has no tool web_search either (it needs TAVILY_API_KEY)"
	if e.hasTool(parley.WebSearchTool) {
		help = "give the agent the tool web_search"
	}
	return parley.InvalidField(
		"content.search",
		"%s has no web search of its own: choose a model that has one, or leave search out; %s",
		model.ID,
		help,
	)
}

func (e *Engine) hasTool(name string) bool {
	_, found := e.tools.Tool(name)
	return found
}

// filesIn reads the files that a content names, as far as its author may see them.
func (e *Engine) filesIn(ctx context.Context, scope store.Scope, ids []parley.ID) ([]parley.File, error) {
	files := make([]parley.File, len(ids))
	for i, id := range ids {
		file, err := e.store.File(ctx, scope, id)
		if parley.ErrorCode(err) == parley.CodeNotFound {
			return nil, parley.Errorf(
				parley.CodeNotFound,
				"content.files: there is no file %s; upload it first (POST /v1/files)",
				id,
			)
		}
		if err != nil {
			return nil, err
		}
		files[i] = file
	}
	return files, nil
}

func checkFile(file parley.File, model model.Info) error {
	name := parley.Clip(file.Name, 64)
	switch {
	case file.IsImage() && !model.Sees():
		return parley.InvalidField(
			"content.files",
			"%s reads no images; choose a model with vision, or leave %s out",
			model.ID,
			name,
		)
	case file.IsImage() && file.Size > parley.MaxImageBytes:
		return parley.InvalidField(
			"content.files",
			"%s has %d bytes; a model is shown images up to %d",
			name,
			file.Size,
			parley.MaxImageBytes,
		)
	case file.IsText() && file.Size > parley.MaxTextFileBytes:
		return parley.InvalidField(
			"content.files",
			"%s has %d bytes; a model is shown text files up to %d",
			name,
			file.Size,
			parley.MaxTextFileBytes,
		)
	case !prompt.Shows(file):
		return parley.InvalidField(
			"content.files",
			"%s is %s; a model is shown images (PNG, JPEG, GIF, WebP) and text in UTF-8",
			name,
			file.MediaType,
		)
	}
	return nil
}

// asksModel reports whether a message asks for something that depends on the model: it has files, or wants a search.
func asksModel(content []byte) bool {
	_, search := parley.Wishes(content)
	return search || len(parley.FilesOf(content)) > 0
}

// checkAnswerableIn is checkAnswerable for a message of a session.
func (e *Engine) checkAnswerableIn(
	ctx context.Context,
	scope store.Scope,
	session parley.Session,
	message *store.NewMessage,
) error {
	if !asksModel(message.Content) {
		return nil
	}
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return err
	}
	return e.checkAnswerable(ctx, scope, message, &agent, &session)
}

// checkAnswerableOf is checkAnswerableIn for a session that must be read first.
func (e *Engine) checkAnswerableOf(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	message *store.NewMessage,
) error {
	if !asksModel(message.Content) {
		return nil
	}
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return err
	}
	return e.checkAnswerableIn(ctx, scope, session, message)
}
