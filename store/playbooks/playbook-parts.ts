import type { PlaybookPart } from '../../model/playbook/playbook.ts';
import { piecesOf } from '../repository/pieces.ts';

/** What the archive of a playbook is made of. */
export class PlaybookParts extends piecesOf<PlaybookPart>('playbookParts') {}
