package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// encodeAgain passes a call's rebuilt request through the middleware that it went through, and encodes it the same way.
// It returns CodeNotFound for middleware that is missing here, and the wire's refusals; any other error is the store's.
func (e *Engine) encodeAgain(
	ctx context.Context,
	scope store.Scope,
	call *parley.Call,
	model model.Model,
	request *model.Request,
) (model.EncodedRequest, error) {
	encoded, _, err := e.encodeFiltered(ctx, scope, call, model, request)
	return encoded, err
}

// encodeFiltered is encodeAgain that also returns what the middleware does to answers; nil if it leaves them unchanged.
func (e *Engine) encodeFiltered(
	ctx context.Context,
	scope store.Scope,
	call *parley.Call,
	adapter model.Model,
	request *model.Request,
) (model.EncodedRequest, model.AnswerFilter, error) {
	text, err := e.callText(ctx, scope, call.MiddlewareHash)
	if err != nil {
		return model.EncodedRequest{}, nil, err
	}
	layers, err := prompt.RebuildLayers(call.Manifest.Middleware, text, e.middleware)
	if err != nil {
		return model.EncodedRequest{}, nil, err
	}
	request.CacheKey, request.CacheTTL = call.Manifest.CacheKey, call.Manifest.CacheTTL
	filter, err := layers.Request(
		ctx,
		model.Exchange{WorkspaceID: call.WorkspaceID, SessionID: call.SessionID},
		request,
	)
	if err != nil {
		return model.EncodedRequest{}, nil, err
	}
	var encoded model.EncodedRequest
	if call.EncoderVersion > 0 {
		encoded, err = adapter.EncodeAs(call.EncoderVersion, *request)
	} else {
		encoded, err = adapter.Encode(*request)
	}
	return encoded, filter, err
}
