{{- define "kedge.labels" -}}
app.kubernetes.io/name: kedge
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kedge.selector" -}}
app.kubernetes.io/name: kedge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kedge.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}-kedge
{{- end }}
