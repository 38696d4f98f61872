package testkit

import "testing"

func TestLeaksFindsSecrets(t *testing.T) {
	s := &Secrets{}
	for _, secret := range []string{"", "042137", "correct horse"} {
		s.Add(secret)
	}
	const token = "qzKKrgXa81aqEBZRnn8FcCHRhiHavbhGHIpccPb4F5M"
	tests := []struct {
		line string
		leak bool
	}{
		{`{"time":"2026-11-21T18:38:05.710700081Z","msg":"request","ms":1.957,"request_id":"B2LFL5MZRTEGDH6MH43SQDAKYM"}`, false},
		{`{"msg":"ready","addr":"127.0.0.1:18080","database":"Postgres localhost:5432/x"}`, false},
		{`{"msg":"migrated","version":20261121181306}`, false},
		{`{"msg":"x","ms":0.042137,"n":1042137}`, true}, // .042137 matches by chance
		{`{"msg":"x","n":1042137}`, false},
		{`{"code":"042137"}`, true},
		{`{"err":"the password correct horse is wrong"}`, true},
		{`{"phone":"+8613912345678"}`, true},
		{`{"phone":"13912345678"}`, true},
		{`{"phone":"8613912345678"}`, true},
		{`{"phone":"+4915112345678"}`, true},
		{`{"phone":"139****5678"}`, false},
		{`{"token":"` + token + `"}`, true},
		{`Bearer ` + token, true},
		{`{"path":"/x/` + token + `/y"}`, true},
		{`{"path":"/tmp/TestLimitsCountByTheClientsAddress375612300/001"}`, false},
		{`{"key":"td:session:{` + token + `}"}`, true},
		{`{"url":"postgres://ann:hunter2@host/db"}`, true},
		{`{"url":"redis://:hunter2@host"}`, true},
	}
	for _, tt := range tests {
		if got := len(s.Leaks(tt.line+"\n")) > 0; got != tt.leak {
			t.Errorf("%s: got leak %v, want %v", tt.line, got, tt.leak)
		}
	}
	if n := len(new(Secrets).Leaks("a\nb\n")); n != 0 {
		t.Errorf("without secrets: got %d lines", n)
	}
}
