// Package plangen is a gqlgen plugin. It writes the tables of package plan from the schema,
// gqlgen.yml and the Go types that gqlgen has bound:
//
//	api.Generate(cfg, api.AddPlugin(plangen.Plugin{}))
//
// The function Plans in plans.go, in the package of gqlgen's executor, returns the tables.
//
// If the package of a marshaler has a matching append function, plans use it. A scalar bound to
// MarshalX has
//
//	func AppendX(out []byte, v T) []byte
//
// and a scalar with a context marshaler, whose text depends on the object, has
//
//	func AppendX(out []byte, v T, object string) []byte
//
// where object is the name of the object's type. Without an append function, plans use the
// marshaler.
//
// gqlgen executes queries for unsupported fields: fields of types without Go structs, lists of
// lists, and leaves that only a context marshaler writes. A comment in the generated code names each
// such field and the reason.
package plangen

import (
	_ "embed"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/99designs/gqlgen/plugin"
)

//go:embed plans.gotpl
var template string

// Plugin implements gqlgen's plugin interfaces. The zero value is ready.
type Plugin struct{}

var (
	_ plugin.CodeGenerator = Plugin{}
	_ plugin.ConfigMutator = Plugin{}
)

// Name implements plugin.Plugin.
func (Plugin) Name() string { return "plangen" }

// MutateConfig removes the tables of an earlier run, since they may refer to removed names.
func (Plugin) MutateConfig(cfg *config.Config) error {
	if err := os.Remove(filename(cfg)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove earlier plans: %w", err)
	}
	return nil
}

func filename(cfg *config.Config) string { return filepath.Join(cfg.Exec.Dir(), "plans.go") }

// GenerateCode writes the tables.
func (Plugin) GenerateCode(data *codegen.Data) error {
	g := &generator{data: data}
	g.reach()
	return templates.Render(templates.Options{
		PackageName:     data.Config.Exec.Package,
		Filename:        filename(data.Config),
		Template:        template,
		Data:            g,
		GeneratedHeader: true,
		Packages:        data.Config.Packages,
		Funcs: map[string]any{
			"planned": g.planned, "is": g.is, "var": variable, "event": event, "cases": cases, "arguments": argumentsStruct,
		},
	})
}

// A generator holds the data of the template.
type generator struct {
	data       *codegen.Data
	Query      *codegen.Object
	Events     []*codegen.Field
	Objects    []*codegen.Object    // reachable from a query or an event; includes Query
	Interfaces []*codegen.Interface // reachable from a query or an event
}

// reach finds the types that are reachable from queries and events.
func (g *generator) reach() {
	objects, seen := map[string]*codegen.Object{}, map[string]bool{}
	for _, o := range g.data.Objects {
		objects[o.Name] = o
	}
	g.Query = g.data.QueryRoot
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || strings.HasPrefix(name, "__") {
			return
		}
		seen[name] = true
		if i := g.data.Interfaces[name]; i != nil {
			g.Interfaces = append(g.Interfaces, i)
			for _, c := range i.Implementors {
				visit(c.Name)
			}
		}
		if o := objects[name]; o != nil {
			g.Objects = append(g.Objects, o)
			for _, f := range o.Fields {
				visit(f.TypeReference.Definition.Name)
			}
		}
	}
	visit(g.Query.Name)
	if root := g.data.SubscriptionRoot; root != nil {
		for _, f := range root.Fields {
			if name := f.TypeReference.Definition.Name; objects[name] != nil || g.data.Interfaces[name] != nil {
				g.Events = append(g.Events, f)
				visit(name)
			}
		}
	}
	slices.SortFunc(g.Objects, func(a, b *codegen.Object) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(g.Interfaces, func(a, b *codegen.Interface) int { return strings.Compare(a.Name, b.Name) })
}

// is returns the interfaces and unions of an object type.
func (g *generator) is(o *codegen.Object) (names []string) {
	for _, d := range o.Implements {
		names = append(names, d.Name)
	}
	return names
}

func variable(name string) string { return "type" + name }

// event returns the cases of an event, as code.
func event(f *codegen.Field) string {
	def := f.TypeReference.Definition
	if def.IsAbstractType() {
		return variable(def.Name) + ".Cases"
	}
	return fmt.Sprintf("{plan.CaseOf[%s](%s)}", lookup(f.TypeReference.Target), variable(def.Name))
}

// cases returns the cases of an interface or a union, as code. An interface among its implementors
// adds no objects.
func cases(i *codegen.Interface) (list []string) {
	for _, c := range i.Implementors {
		switch p, isPointer := c.Type.(*types.Pointer); {
		case isPointer:
			list = append(list, fmt.Sprintf("plan.CaseOf[%s](%s)", lookup(p.Elem()), variable(c.Name)))
		case c.TakeRef:
			list = append(list, fmt.Sprintf("plan.CaseOfValue[%s](%s)", lookup(c.Type), variable(c.Name)))
		}
	}
	return list
}

func lookup(t types.Type) string { return templates.CurrentImports.LookupType(t) }

// A planned holds the code of a field, or the reason why gqlgen must execute the field.
type planned struct{ Code, Why string }

// planned returns the code of a field.
func (g *generator) planned(f *codegen.Field) planned {
	code, why := g.field(f)
	if why != "" {
		return planned{Why: why}
	}
	if len(f.Args) > 0 {
		code += ".Args(" + arguments(f) + ")"
	}
	return planned{Code: code}
}

// field returns the code of a field without its arguments and directives, or the reason why there
// is none.
func (g *generator) field(f *codegen.Field) (code, why string) {
	if f.IsMap() || f.VOkFunc {
		return "", "no Go field, method or resolver"
	}
	for _, a := range f.Args {
		if len(a.ImplDirectives()) > 0 {
			return "", "an argument has a directive"
		}
	}
	tr := f.TypeReference
	if tr.Definition.IsLeafType() {
		write, why := writer(tr, f.Object.Name, "v")
		switch {
		case why != "":
			return "", why
		case reads(f):
			write, _ = writer(tr, f.Object.Name, "obj."+f.GoFieldName+call(f))
			code = fmt.Sprintf("plan.Scalar(func(out []byte, obj %s) []byte { return %s })", parent(f), write)
		default:
			code = fmt.Sprintf("plan.LoadedScalar(%s, %s)", function(tr, write), loader(f))
		}
		if !tr.GQL.NonNull {
			code += ".Nullable()"
		}
		return code, ""
	}
	return objects(f)
}

// reads reports whether a field only reads its object.
func reads(f *codegen.Field) bool {
	return !f.IsResolver && (f.IsVariable() || f.IsMethod() && f.NoErr && !f.MethodHasContext && len(f.Args) == 0)
}

func call(f *codegen.Field) string {
	if f.IsMethod() {
		return "()"
	}
	return ""
}

// parent returns the Go type of the objects that have a field.
func parent(f *codegen.Field) string {
	if f.Object.Root {
		return "struct{}"
	}
	return lookup(f.Object.Reference())
}

// objects returns the code of a field of objects.
func objects(f *codegen.Field) (code, why string) {
	tr := f.TypeReference
	list, elem := tr.GQL.Elem != nil, tr
	if list {
		if tr.GQL.Elem.Elem != nil || !tr.IsSlice() {
			return "", "lists of lists are unsupported"
		}
		elem = tr.Elem()
	}
	abstract, isStruct := tr.Definition.IsAbstractType(), elem.IsStruct()
	isPointer := elem.IsPtr() && elem.Elem().IsStruct()
	if !abstract && !isStruct && !isPointer || abstract && !types.IsInterface(elem.GO) {
		return "", "its objects are not structs"
	}
	to := variable(tr.Definition.Name)
	kind := "LoadedObject"
	switch {
	case abstract && list:
		kind = "LoadedInterfaceList"
	case abstract:
		kind = "LoadedInterface"
	case list:
		kind = "LoadedList"
	}
	switch {
	case abstract:
		code = fmt.Sprintf("plan.%s(%s, %s)", kind, to, loader(f))
	case reads(f):
		get := "obj." + f.GoFieldName + call(f)
		result, inner := lookup(tr.GO), "Object"
		if list {
			inner = "ObjectList"
		}
		switch {
		case isStruct && list:
			get, result = "plan.Pointers("+get+")", "[]*"+lookup(elem.GO)
		case isStruct && f.IsMethod():
			return "", "its method returns a struct"
		case isStruct:
			get, result = "&"+get, "*"+result
		}
		code = fmt.Sprintf("plan.%s(%s, func(obj %s) %s { return %s })", inner, to, parent(f), result, get)
	default:
		load := loader(f)
		if isStruct && list {
			load = "plan.ListRefs(" + load + ")"
		} else if isStruct {
			load = "plan.Refs(" + load + ")"
		}
		code = fmt.Sprintf("plan.%s(%s, %s)", kind, to, load)
	}
	if !tr.GQL.NonNull {
		code += ".Nullable()"
	}
	if list && !tr.GQL.Elem.NonNull {
		code += ".Sparse()"
	}
	return code, ""
}

// loader returns the code of a field's loader.
func loader(f *codegen.Field) string {
	result := lookup(f.TypeReference.GO)
	var args []string
	if f.IsResolver || f.MethodHasContext {
		args = append(args, "ctx")
	}
	if f.IsResolver && !f.Object.Root {
		if f.IsBatch() {
			args = append(args, "objs")
		} else {
			args = append(args, "obj")
		}
	}
	for _, a := range f.Args {
		args = append(args, fmt.Sprintf("args.(*%s).%s", argumentsType(f), a.VarName))
	}
	of := "obj"
	if f.IsResolver {
		of = "resolver"
	}
	invoke := fmt.Sprintf("%s.%s(%s)", of, f.GoFieldName, strings.Join(args, ", "))
	switch {
	case f.IsBatch():
		return fmt.Sprintf("func(ctx context.Context, objs []%s, args any) ([]%s, error) { return %s }", parent(f), result, invoke)
	case !f.IsResolver && f.IsVariable():
		invoke = "obj." + f.GoFieldName + ", nil"
	case !f.IsResolver && f.NoErr:
		invoke += ", nil"
	}
	return fmt.Sprintf("plan.Each(func(ctx context.Context, obj %s, args any) (%s, error) { return %s })", parent(f), result, invoke)
}

// argumentsType returns the name of the struct of a field's arguments.
func argumentsType(f *codegen.Field) string {
	return "arguments" + f.Object.Name + templates.UcFirst(f.Name)
}

// argumentsStruct returns the declaration of the struct of a field's arguments.
func argumentsStruct(f *codegen.Field) string {
	var fields []string
	for _, a := range f.Args {
		fields = append(fields, a.VarName+" "+lookup(a.TypeReference.GO))
	}
	return fmt.Sprintf("type %s struct {\n%s\n}", argumentsType(f), strings.Join(fields, "\n"))
}

// arguments returns the code of the function that reads a field's arguments. Its errors have no
// path: gqlgen produces them again.
func arguments(f *codegen.Field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func(ctx context.Context, raw map[string]any) (any, error) {\nargs := &%s{}\nvar err error\n", argumentsType(f))
	for _, a := range f.Args {
		fmt.Fprintf(&b, "if v, ok := raw[%q]; ok {\nif args.%s, err = ec.%s(ctx, v); err != nil {\nreturn nil, err\n}\n}\n", a.Name, a.VarName, a.TypeReference.UnmarshalFunc())
	}
	b.WriteString("return args, nil\n}")
	return b.String()
}

// writer returns the code that appends a leaf to out, or the reason why there is none.
func writer(tr *config.TypeReference, object, v string) (code, why string) {
	switch {
	case tr.IsSlice():
		elem := tr.Elem()
		write, why := writer(elem, object, "v")
		if why != "" {
			return "", why
		}
		list := "plan.List"
		if !tr.GQL.NonNull {
			list = "plan.ListOrNull"
		}
		return fmt.Sprintf("%s(out, %s, %s)", list, v, function(elem, write)), ""
	case tr.IsPtr():
		elem := tr.Elem()
		if !tr.GQL.NonNull {
			write, why := writer(elem, object, "v")
			return fmt.Sprintf("plan.OrNull(out, %s, %s)", v, function(elem, write)), why
		}
		return writer(elem, object, "plan.NonNull("+v+")")
	case tr.HasEnumValues():
		return "", "its enum maps values"
	case tr.IsMarshaler && !tr.IsContext:
		return fmt.Sprintf("plan.Marshal(out, %s)", v), ""
	case tr.Marshaler == nil || tr.GQL.Elem != nil:
		return "", "it has no marshaler"
	}
	if tr.CastType != nil {
		v = fmt.Sprintf("%s(%s)", lookup(tr.CastType), v)
	}
	name, pkg := tr.Marshaler.Name(), tr.Marshaler.Pkg()
	appends := "Append" + strings.TrimPrefix(name, "Marshal")
	if f, ok := pkg.Scope().Lookup(appends).(*types.Func); ok {
		switch sig := f.Signature(); {
		case sig.Params().Len() == 2:
			return fmt.Sprintf("%s(out, %s)", templates.Call(f), v), ""
		case sig.Params().Len() == 3:
			return fmt.Sprintf("%s(out, %s, %q)", templates.Call(f), v, object), ""
		}
	}
	if tr.IsContext {
		return "", "only a context marshaler writes it"
	}
	return fmt.Sprintf("plan.Marshal(out, %s(%s))", templates.Call(tr.Marshaler), v), ""
}

// function returns the code of a function that writes v. If write only calls another function with
// v, it returns that function's name.
func function(tr *config.TypeReference, write string) string {
	if name, ok := strings.CutSuffix(write, "(out, v)"); ok && !strings.Contains(name, "(") {
		return name
	}
	return fmt.Sprintf("func(out []byte, v %s) []byte { return %s }", lookup(tr.GO), write)
}

// Guards returns the directives of a field, the outermost first.
func (g *generator) Guards(f *codegen.Field) []*codegen.Directive {
	directives := slices.Clone(f.ImplDirectives())
	slices.Reverse(directives)
	return directives
}

// Parent returns the Go type of the objects that have a field.
func (g *generator) Parent(f *codegen.Field) string { return parent(f) }
