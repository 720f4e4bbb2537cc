package engine

import (
	"context"
	"io"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
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

// checkFiles fills in what parts leave to the server, and refuses files in a user's message that the answering model
// cannot be shown. models are those that agent, session and message set, the nearest last.
func (e *Engine) checkFiles(
	ctx context.Context,
	scope store.Scope,
	message *store.NewMessage,
	models ...parley.ModelID,
) error {
	ids := parley.FilesOf(message.Content)
	if len(ids) == 0 {
		return nil
	}
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
	id := e.models.Default()
	for _, wider := range models { // the nearest is last
		if wider != "" {
			id = wider
		}
	}
	_, info, err := e.models.Resolve(id)
	if err != nil {
		return err
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

// checkFilesIn is checkFiles for a message of a session.
func (e *Engine) checkFilesIn(
	ctx context.Context,
	scope store.Scope,
	session parley.Session,
	message *store.NewMessage,
) error {
	if len(parley.FilesOf(message.Content)) == 0 {
		return nil
	}
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return err
	}
	return e.checkFiles(ctx, scope, message, agent.Model, session.Model, message.Settings.Model)
}

// checkFilesOf is checkFilesIn for a session that must be read first.
func (e *Engine) checkFilesOf(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	message *store.NewMessage,
) error {
	if len(parley.FilesOf(message.Content)) == 0 {
		return nil
	}
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return err
	}
	return e.checkFilesIn(ctx, scope, session, message)
}
