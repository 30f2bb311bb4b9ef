import mongoose, { type SchemaDefinition } from 'mongoose';
import { z } from 'zod';
import { encryptedTypes } from '../../model/fields.ts';
import { strictPart } from './schema.ts';

const { Mixed } = mongoose.Schema.Types;

/** Converts the fields of a model to those of a schema. A string may be empty only where its model has `min(0)`. */
export function fieldsOf(shape: z.core.$ZodShape): SchemaDefinition {
  return Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, fieldOf(type)]));
}

function fieldOf(type: z.core.$ZodType, presence: object = { required: true }): object {
  const encryption = encryptedTypes.get(type);
  if (encryption) return { type: Mixed, ...presence, encrypted: encryption.standIn ?? true };
  if (type instanceof z.core.$ZodOptional) return fieldOf(type._zod.def.innerType, { default: undefined });
  if (type instanceof z.core.$ZodNullable) {
    const field = fieldOf(type._zod.def.innerType, 'required' in presence ? { default: null } : presence);
    return 'enum' in field && Array.isArray(field.enum) ? { ...field, enum: [...field.enum, null] } : field;
  }
  if (type instanceof z.core.$ZodEnum) return { type: String, enum: Object.values(type._zod.def.entries), ...presence };
  if (type instanceof z.ZodString && type.minLength === 0 && 'required' in presence) return { type: String };
  return { type: typeOf(type), ...presence };
}

function typeOf(type: z.core.$ZodType): unknown {
  if (type instanceof z.core.$ZodString) return String;
  if (type instanceof z.core.$ZodNumber) return Number;
  if (type instanceof z.core.$ZodBoolean) return Boolean;
  if (type instanceof z.core.$ZodObject) return strictPart(fieldsOf(type._zod.def.shape));
  if (type instanceof z.core.$ZodArray) return [fieldOf(type._zod.def.element)];
  return Mixed;
}
