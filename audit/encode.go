package audit

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the record as the log spells its line, without the newline. It redacts nothing: for a record from
// Append or Read, the result is the line itself.
func (r *Record) AppendJSON(dst []byte) []byte {
	dst = r.appendBody(dst)
	dst = append(dst, hashMember...)
	dst = append(dst, r.Hash...)
	return append(dst, hashSuffix...)
}

// appendBody appends the record without its hash and closing brace. Strings MUST be valid UTF-8 and Arguments MUST be
// valid JSON on one line; redact ensures both.
func (r *Record) appendBody(dst []byte) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, r.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = r.Time.AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	dst = append(dst, `,"event":`...)
	dst = appendString(dst, string(r.Event))
	dst = appendMember(dst, `,"callId":`, r.CallID)
	dst = appendMember(dst, `,"sessionId":`, r.SessionID)
	dst = appendMember(dst, `,"worker":`, r.Worker)
	dst = appendMember(dst, `,"agent":`, r.Agent)
	dst = appendMember(dst, `,"host":`, r.Host)
	dst = appendMember(dst, `,"principal":`, r.Principal)
	dst = appendMember(dst, `,"project":`, r.Project)
	dst = appendMember(dst, `,"server":`, r.Server)
	dst = appendMember(dst, `,"tool":`, r.Tool)
	dst = appendMember(dst, `,"kind":`, r.Kind)
	dst = appendMember(dst, `,"decision":`, r.Decision)
	dst = appendMember(dst, `,"risk":`, r.Risk)
	dst = appendMember(dst, `,"category":`, r.Category)
	dst = appendMember(dst, `,"by":`, r.By)
	dst = appendMember(dst, `,"from":`, r.From)
	dst = appendMember(dst, `,"rule":`, r.Rule)
	dst = appendMember(dst, `,"reason":`, r.Reason)
	dst = appendMember(dst, `,"summary":`, r.Summary)
	dst = appendMember(dst, `,"digest":`, r.Digest)
	if len(r.Arguments) > 0 {
		dst = append(dst, `,"arguments":`...)
		dst = append(dst, r.Arguments...)
	}
	dst = appendMember(dst, `,"approval":`, r.Approval)
	if r.Edited {
		dst = append(dst, `,"edited":true`...)
	}
	if len(r.Subjects) > 0 {
		dst = append(dst, `,"subjects":[`...)
		for i := range r.Subjects {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = r.Subjects[i].append(dst)
		}
		dst = append(dst, ']')
	}
	if r.Omitted > 0 {
		dst = append(dst, `,"subjectsOmitted":`...)
		dst = strconv.AppendInt(dst, int64(r.Omitted), 10)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	dst = appendMember(dst, `,"error":`, r.Error)
	if r.Duration != 0 && !math.IsNaN(r.Duration) && !math.IsInf(r.Duration, 0) {
		dst = append(dst, `,"durationMs":`...)
		dst = jsontext.AppendFloat(dst, r.Duration, 64)
	}
	if r.Result > 0 {
		dst = append(dst, `,"resultBytes":`...)
		dst = strconv.AppendInt(dst, int64(r.Result), 10)
	}
	if len(r.Presence) > 0 {
		dst = append(dst, `,"presence":`...)
		dst = append(dst, r.Presence...)
	}
	dst = append(dst, `,"prev":"`...)
	dst = append(dst, r.Prev...)
	return append(dst, '"')
}

func (s *Subject) append(dst []byte) []byte {
	dst = append(dst, `{"tool":`...)
	dst = appendString(dst, s.Tool)
	dst = appendMember(dst, `,"kind":`, s.Kind)
	dst = appendMember(dst, `,"value":`, s.Value)
	dst = append(dst, `,"action":`...)
	dst = appendString(dst, s.Action)
	dst = appendMember(dst, `,"rule":`, s.Rule)
	dst = append(dst, `,"risk":`...)
	dst = appendString(dst, s.Risk)
	return append(dst, '}')
}

func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(dst, name...), value)
}

// appendString appends s as a JSON string. AppendQuote's only error is invalid UTF-8, for which it has written U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// decode reads one line of a log. It does not check the chain.
func decode(line []byte) (Record, error) {
	var stored struct {
		Record
		Arguments jsontext.Value `json:"arguments"`
	}
	if err := json.Unmarshal(line, &stored, jsontext.AllowDuplicateNames(true)); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	stored.Record.Arguments = stored.Arguments
	return stored.Record, nil
}
