package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// codeElicitationRequired is of an error that asks (2025-11-25): hosts lead their person to the addresses in its data,
// and repeat the request.
const codeElicitationRequired = -32042

// required returns an answer whose error may ask something, with what it asks signed like a question of the server.
// An error that could pass for callgate's own, or be read in two ways, does not reach the host.
func (s *server) required(answer rpc.Message) (rpc.Message, error) {
	if answer.Error == nil {
		return answer, nil
	}
	var fault [1]jsonx.Member
	signed, err := s.signedError(answer.Error)
	if err == nil {
		err = jsonx.Members(answer.Raw, []string{"error"}, fault[:])
	}
	if err != nil {
		s.host.log.Warn("an error of the server does not reach the host", "server", s.alias, "reason", err)
		return rpc.Parse(rpc.Error(answer.ID, rpc.CodeInternal, "callgate does not pass the server's error on. "+err.Error()))
	}
	if bytes.Equal(signed, answer.Error) {
		return answer, nil
	}
	return rpc.Parse(jsonx.Splice(answer.Raw, jsonx.Edit{Start: fault[0].Start, End: fault[0].End(), With: signed}))
}

// signedError is required for the error object.
func (s *server) signedError(fault []byte) ([]byte, error) {
	var m [2]jsonx.Member
	if err := jsonx.Members(fault, []string{"code", "data"}, m[:]); err != nil {
		return nil, err
	}
	code, err := strconv.ParseFloat(string(m[0].Value), 64) // hosts read -32042.0 and -3.2042e4 as the same
	if err != nil || code != codeElicitationRequired || m[1].Value == nil || m[1].Value[0] != '{' {
		return fault, nil
	}
	if err := jsonx.Check(fault); err != nil {
		return nil, err
	}
	var asked [1]jsonx.Member
	if err := jsonx.Members(m[1].Value, []string{"elicitations"}, asked[:]); err != nil || asked[0].Value == nil {
		return fault, err
	}
	all, err := s.signedAll(asked[0].Value)
	if err != nil {
		return nil, err
	}
	at := m[1].Start + asked[0].Start
	return jsonx.Splice(fault, jsonx.Edit{Start: at, End: at + len(asked[0].Value), With: all}), nil
}

// signedAll signs each elicitation of an array.
func (s *server) signedAll(array []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(array))
	if dec.PeekKind() != '[' {
		return nil, errors.New("What it asks is not a list.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var edits []jsonx.Edit
	for dec.PeekKind() == '{' {
		question, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if why := cmp.Or(s.host.p.o.Gate.Imitates(question), imitates(question), astray(question)); why != "" {
			return nil, errors.New(why)
		}
		signed, err := s.signed(question)
		if err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		edits = append(edits, jsonx.Edit{Start: end - len(question), End: end, With: signed})
	}
	if dec.PeekKind() != ']' {
		return nil, errors.New("What it asks cannot be read.")
	}
	return jsonx.Splice(array, edits...), nil
}
