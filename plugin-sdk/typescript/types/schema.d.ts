/** A raw JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A schema and the type of its values. Each method returns a new schema. */
export declare class Schema<T, Optional extends boolean = false> {
  readonly json: JsonSchema;
  /** The value with its defaults. Throws `InvalidArguments` with the place in `path`. */
  read(value: unknown, path: string): T;
  describe(description: string): this;
  title(title: string): this;
  /** The minimal value, length or number of items. */
  min(least: number): this;
  /** The maximal one. */
  max(most: number): this;
  pattern(pattern: string | RegExp): this;
  format(format: string): this;
  /** Further keywords of JSON Schema. */
  with(keywords: JsonSchema): this;
  optional(): Schema<T, true>;
  /** The value if it is missing. */
  default(value: T): Schema<T, false>;
  nullable(): Schema<T | null, Optional>;
  /** Only for type inference. */
  readonly _type: [T, Optional];
}

type Shape = { readonly [name: string]: Schema<any, boolean> };
type OptionalKeys<S extends Shape> = { [K in keyof S]: S[K] extends Schema<any, true> ? K : never }[keyof S];
type Flat<T> = { [K in keyof T]: T[K] };

/** The type of a schema's values. */
export type Infer<S> = S extends Schema<infer T, any> ? T : never;

/** The type of an object with these members. */
export type InferShape<S extends Shape> = Flat<
  { [K in Exclude<keyof S, OptionalKeys<S>>]: Infer<S[K]> } & { [K in OptionalKeys<S>]?: Infer<S[K]> }
>;

type Scalar = string | number | boolean | null;

/** Schema builders. */
export declare const s: {
  string(): Schema<string>;
  number(): Schema<number>;
  integer(): Schema<number>;
  boolean(): Schema<boolean>;
  null(): Schema<null>;
  any(): Schema<any>;
  enum<const V extends readonly Scalar[]>(values: V): Schema<V[number]>;
  literal<const V extends Scalar>(value: V): Schema<V>;
  array<T>(items: Schema<T, any>): Schema<T[]>;
  object<S extends Shape>(shape: S): Schema<InferShape<S>>;
  record<T>(values: Schema<T, any>): Schema<Record<string, T>>;
  union<const B extends readonly Schema<any, any>[]>(branches: B): Schema<Infer<B[number]>>;
  /** A JSON Schema as it is; values are not checked. */
  raw<T = any>(json: JsonSchema): Schema<T>;
};
