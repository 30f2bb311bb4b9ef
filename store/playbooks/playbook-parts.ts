import type { PlaybookPart } from '../../model/playbook/playbook.ts';
import { piecesOf } from '../repository/pieces.ts';

/** Parts of a playbook's archive. */
export class PlaybookParts extends piecesOf<PlaybookPart>('playbookParts') {}
